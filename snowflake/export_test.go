package snowflake

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// WithReadings scripts both clocks.
func WithReadings(read func() (wall time.Time, elapsed time.Duration)) Option {
	return optionFunc(func(c *config) error {
		c.read = read
		return nil
	})
}

// Skew puts the machine's wall clock off. The generator must not be in use yet.
func Skew(g *Generator, skew func() time.Duration) { g.clock.Skewed = skew }

// OpenAfterRevoke opens a tick in the moment in which a grant is revoked, again
// and again for some time, and counts how often TryNext finds a slot in it,
// from the moment when Revoke has returned.
func OpenAfterRevoke(newGrant func() *Grant, lasts time.Duration) (found, rounds int64) {
	var begun, ended atomic.Int64
	var over atomic.Bool
	var opener sync.WaitGroup
	g := newGenerator(nil, config{layout: newGrant().layout})
	g.directBelow = 0 // the open tick is what is looked at
	opener.Go(func() {
		for round := int64(1); ; round++ {
			if spin(&begun, round); over.Load() {
				return
			}
			grant := g.grant.Load()
			grant.openTick(uint64(grant.id(grant.first)), clock.Moment{}, time.Hour, false)
			ended.Store(round)
		}
	})
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		rounds++
		grant := newGrant()
		tick := uint64(grant.from)
		grant.begin(g, tick)
		grant.advance(grant.first-1, grant.first)
		g.grant.Store(grant)
		begun.Store(rounds)
		for range rounds % 200 { // the opener learns of it some time later
			begun.Load()
		}
		grant.Revoke()
		for ended.Load() < rounds {
			if _, err := g.TryNext(); err == nil {
				found++
			}
		}
		if _, err := g.TryNext(); err == nil {
			found++
		}
	}
	over.Store(true)
	begun.Add(1)
	opener.Wait()
	return found, rounds
}

// spin waits for the word to get there, without leaving the processor at once.
func spin(word *atomic.Int64, until int64) {
	for i := 1; word.Load() < until; i++ {
		if i%1000 == 0 {
			runtime.Gosched()
		}
	}
}

// SetSecret makes the sequence numbers at which the present grant's ticks start
// the same in every run. The generator must not be in use yet.
func SetSecret(g *Generator, secret uint64) { g.grant.Load().secret = secret }
