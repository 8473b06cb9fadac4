package snowflake_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// groups is how many orders with their lines a case has.
const groups = 50_000

var moduli = []uint64{
	2, 4, 8, 16, 32, 64, 128, 256, 512, 1024,
	3, 5, 7, 9, 11, 13, 15, 31, 33, 61, 63, 101, 127, 255, 509, 999, 1021, 1023,
	6, 10, 12, 100, 1000,
}

// arrivals is when keys are asked for: an order's and its ten lines' all in one
// tick, or each at a moment of its own, at random distances.
type arrivals struct {
	mean  time.Duration
	burst bool
}

var everyArrival = map[string]arrivals{
	"one a second":              {mean: time.Second},
	"a hundred a second":        {mean: 10 * time.Millisecond},
	"one a millisecond":         {mean: time.Millisecond},
	"ten a millisecond":         {mean: 100 * time.Microsecond},
	"bursts, one a second":      {mean: time.Second, burst: true},
	"bursts, one a millisecond": {mean: time.Millisecond, burst: true},
}

// The arrivals are drawn from a fixed seed, and the starts of ticks are a hash.
func TestLowBitsAreEven(t *testing.T) {
	t.Parallel()
	for name, when := range everyArrival {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, ids := range streams(t, when, snowflake.StartRandom) {
				for _, m := range moduli {
					if p := chiSquare(ids, m); p <= 0.001 {
						t.Errorf("%s modulo %d: p = %.2g, want more than 0.001", name, m, p)
					}
				}
			}
		})
	}
}

// The same test finds the skew of the classic start, so it can fail.
func TestLowBitsAreNotEvenFromZero(t *testing.T) {
	t.Parallel()
	for name, when := range everyArrival {
		if p := chiSquare(streams(t, when, snowflake.StartZero)["orders"], 1024); p > 0.001 {
			t.Errorf("%s, from zero, modulo 1024: p = %.2g, want a skew", name, p)
		}
	}
}

// streams issues orders with ten lines each, and returns the keys of the orders,
// one of each order's lines, and one of all keys of the group. The test takes all
// keys for independent, and those of one tick are neighbours.
func streams(t *testing.T, when arrivals, start snowflake.SequenceStart) map[string][]id {
	t.Helper()
	s := &script{wall: date("2026-11-20T12:00:00Z")}
	r := rand.New(rand.NewPCG(1, uint64(when.mean)))
	g, err := snowflake.New(newWindows(snowflake.TwitterLayout(), s.now, 1e6*time.Hour), snowflake.WithReadings(s.read),
		snowflake.WithSequenceStart(start), snowflake.WithMaxJump(1e6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	byStream := make(map[string][]id)
	for range groups {
		var group [11]id
		for i := range group {
			if i == 0 || !when.burst {
				s.pass(time.Duration(r.ExpFloat64() * float64(when.mean)))
			}
			if group[i], err = g.TryNext(); err != nil {
				t.Fatal(err)
			}
		}
		byStream["orders"] = append(byStream["orders"], group[0])
		byStream["lines"] = append(byStream["lines"], group[1+r.IntN(10)])
		byStream["keys"] = append(byStream["keys"], group[r.IntN(11)])
	}
	return byStream
}

// chiSquare is the probability that keys spread evenly over m shards would
// look at least as uneven as these (Wilson and Hilferty's approximation).
func chiSquare(ids []id, m uint64) float64 {
	counts := make([]float64, m)
	for _, id := range ids {
		counts[uint64(id)%m]++
	}
	expected, sum := float64(len(ids))/float64(m), 0.0
	for _, n := range counts {
		sum += (n - expected) * (n - expected) / expected
	}
	k := float64(m - 1)
	z := (math.Cbrt(sum/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2) / 2
}
