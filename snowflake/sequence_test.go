package snowflake_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

const sample = 200_000

var (
	rates  = []int{1, 100, 100_000} // IDs per second
	moduli = []uint64{2, 3, 4, 5, 7, 8, 10, 16, 32, 64, 100, 128, 256, 512, 1000, 1024}
)

// The seed is fixed. At 100,000 per second the keys of one tick are
// neighbours, while the test takes all keys for independent: most seeds look
// far more even than chance, and a few look less even at large moduli.
func TestLowBitsAreEven(t *testing.T) {
	for _, rate := range rates {
		t.Run(fmt.Sprintf("%d per second", rate), func(t *testing.T) {
			t.Parallel()
			keys, orders, lines := streams(t, rate, snowflake.StartRandom)
			for name, ids := range map[string][]id{"keys": keys, "orders": orders, "lines": lines} {
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
	for _, rate := range rates[:2] {
		keys, _, _ := streams(t, rate, snowflake.StartZero)
		if p := chiSquare(keys, 2); p > 0.001 {
			t.Errorf("%d per second from zero, modulo 2: p = %.2g, want a skew", rate, p)
		}
	}
	keys, _, _ := streams(t, rates[2], snowflake.StartZero)
	if p := chiSquare(keys, 1024); p > 0.001 {
		t.Errorf("%d per second from zero, modulo 1024: p = %.2g, want a skew", rates[2], p)
	}
}

// streams issues one by one at random moments: keys, and orders of one key
// each between the ten keys of their lines.
func streams(t *testing.T, rate int, start snowflake.SequenceStart) (keys, orders, lines []id) {
	t.Helper()
	s := newScript()
	r := rand.New(rand.NewPCG(1, uint64(rate)))
	g, err := snowflake.New(newWindows(snowflake.TwitterLayout(), s.now, 1e6*time.Hour), snowflake.WithReadings(s.read),
		snowflake.WithSequenceStart(start), snowflake.WithRandom(r.Uint64N), snowflake.WithMaxJump(1e6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; len(orders) < sample; i++ {
		s.pass(time.Duration(r.ExpFloat64() * float64(time.Second) / float64(rate)))
		id, err := g.TryNext()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) < sample {
			keys = append(keys, id)
		}
		if i%11 == 0 {
			orders = append(orders, id)
		} else if len(lines) < sample {
			lines = append(lines, id)
		}
	}
	return keys, orders, lines
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
