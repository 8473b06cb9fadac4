package online

import (
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A pace is how many rows a batch has, and how long the copy rests after one.
type pace struct {
	*Config
	rows int
}

// after adapts to what a batch took. A program that wants one of its rows waits
// for as long. It shrinks at once and grows slowly, since the next rows may be on pages
// that have to be read.
func (p *pace) after(b engine.Batch) {
	factor := 1.25
	if b.Took > 0 {
		factor = min(factor, float64(p.Stall)/float64(b.Took))
	}
	p.rows = min(max(int(float64(p.rows)*max(factor, 0.25)+0.5), p.Smallest), p.Largest)
	if factor > 1.05 && p.rows < p.Largest {
		p.rows++ // a small batch does not grow by a quarter
	}
}

// failed is after a batch that had no lock in time.
func (p *pace) failed() { p.rows = max(p.rows/2, p.Smallest) }

// rest leaves programs half of the time, and more while commits are slow: the disk
// that they wait for is everybody's.
func (p *pace) rest(b engine.Batch) time.Duration {
	return b.Took + 2*max(0, b.Commit-p.Stall/5)
}
