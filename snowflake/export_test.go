package snowflake

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// WithReadings scripts both clocks.
func WithReadings(read func() (wall time.Time, elapsed time.Duration)) Option {
	return optionFunc(func(c *config) error {
		c.read = read
		return nil
	})
}

// Skew puts the machine's wall clock off by what is in the word. The generator
// must not be in use yet.
func Skew(g *Generator, word *atomic.Int64) {
	read := g.clock.Read
	g.clock.Read = func() (time.Time, time.Duration) {
		wall, elapsed := read()
		return wall.Add(time.Duration(word.Load())), elapsed
	}
}

// WithRandom makes the sequence starts repeatable.
func WithRandom(random func(n uint64) uint64) Option {
	return optionFunc(func(c *config) error {
		c.random = random
		return nil
	})
}

// OpenAfterRevoke opens a tick in the moment in which a grant is revoked, again
// and again for some time, and counts how often nextFast finds a slot in it,
// from the moment when Revoke has returned.
func OpenAfterRevoke(newGrant func() *Grant, lasts time.Duration) (found, rounds int64) {
	var begun, ended atomic.Int64
	var over atomic.Bool
	var opener sync.WaitGroup
	var g Generator
	opener.Go(func() {
		for round := int64(1); ; round++ {
			if spin(&begun, round); over.Load() {
				return
			}
			grant := g.grant.Load()
			grant.openTick(uint64(grant.from), time.Hour)
			ended.Store(round)
		}
	})
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		rounds++
		grant := newGrant()
		tick := uint64(grant.from)
		grant.begin(&g, tick)
		grant.advance(grant.first-1, grant.first)
		g.grant.Store(grant)
		g.monotonic = time.Now()
		begun.Store(rounds)
		for range rounds % 200 { // the opener learns of it some time later
			begun.Load()
		}
		grant.Revoke()
		for ended.Load() < rounds {
			if _, ok := g.nextFast(); ok {
				found++
			}
		}
		if _, ok := g.nextFast(); ok {
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
