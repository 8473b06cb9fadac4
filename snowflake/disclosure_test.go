package snowflake_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// docs/ids.md promises that a reader who knows the code, the time and the worker cannot
// compute the sequence number at which a tick starts, because that depends on a secret.
// This must hold on the fast path and, with a scripted clock, on the slow path. With a
// known secret the same computation must succeed, or the test would prove nothing.
func TestSequenceStartCannotBeComputed(t *testing.T) {
	t.Parallel()
	const ticks = 40
	for name, opts := range map[string][]snowflake.Option{
		"first of a tick": nil,
		"compared clocks": {snowflake.WithClock(time.Now)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, grantingSource(time.Now(), time.Hour), append(opts, snowflake.WithLayout(freshLayout()))...)
			if n := computedStarts(t, g, ticks); n > ticks/4 {
				t.Errorf("the starts of %d ticks of %d could be computed", n, ticks)
			}
		})
		t.Run(name+", secret known", func(t *testing.T) {
			t.Parallel()
			g := open(t, grantingSource(time.Now(), time.Hour), append(opts, snowflake.WithLayout(freshLayout()))...)
			snowflake.SetSecret(g, 0)
			if n := computedStarts(t, g, ticks); n != ticks {
				t.Errorf("the starts of %d ticks could be computed, want all %d, or the test above proves nothing", n, ticks)
			}
		})
	}
}

// computedStarts returns how many ticks start at the number that outsiderStart expects.
func computedStarts(t *testing.T, g *snowflake.Generator, ticks int) (computed int) {
	t.Helper()
	for range ticks {
		key, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if outsiderStart(key) == key&sequenceMask {
			computed++
		}
		time.Sleep(2 * time.Millisecond)
	}
	return computed
}

// Two generators under one worker, as before and after a restart, start the same ticks at
// different sequence numbers, because each has a random secret of its own. With the same
// secret they start these ticks at the same numbers.
func TestSequenceStartIsEachGrantsOwn(t *testing.T) {
	t.Parallel()
	starts := func(secret uint64) (starts [20]id) {
		s := &script{wall: date("2026-11-20T12:00:00Z")}
		g := open(t, newWindows(snowflake.TwitterLayout(), s.now, time.Hour), snowflake.WithReadings(s.read))
		if secret > 0 {
			snowflake.SetSecret(g, secret)
		}
		for i := range starts {
			s.pass(time.Millisecond)
			key, err := g.TryNext()
			if err != nil {
				t.Fatal(err)
			}
			starts[i] = key
		}
		return starts
	}
	if one, other := starts(0), starts(0); one == other {
		t.Error("two grants start their ticks at the same numbers")
	}
	if one, other := starts(1), starts(1); one != other {
		t.Error("one secret gives two starts")
	}
}

const sequenceMask = 1<<12 - 1

// outsiderStart returns where the tick of an ID would start without a secret.
func outsiderStart(key id) id {
	x := uint64(key &^ sequenceMask)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return id(x & (sequenceMask >> 1))
}
