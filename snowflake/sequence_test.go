package snowflake_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// groups is the number of orders with lines in each case.
const groups = 50_000

// moduli are numbers of shards: powers of two, odd numbers and primes, and common even
// numbers.
var moduli = []uint64{
	2, 4, 8, 16, 32, 64, 128, 256, 512, 1024,
	3, 5, 7, 9, 11, 13, 15, 31, 33, 61, 63, 101, 127, 255, 509, 999, 1021, 1023,
	6, 10, 12, 100, 1000,
}

// arrivals describes when keys are needed. An order and its ten lines arrive in one
// tick, or each key arrives separately, at random distances.
type arrivals struct {
	mean  time.Duration
	burst bool
}

// everyArrival has rates from one key a second to ten keys, or an order of eleven keys, a
// millisecond.
var everyArrival = map[string]arrivals{
	"one a second":              {mean: time.Second},
	"a hundred a second":        {mean: 10 * time.Millisecond},
	"one a millisecond":         {mean: time.Millisecond},
	"ten a millisecond":         {mean: 100 * time.Microsecond},
	"bursts, one a second":      {mean: time.Second, burst: true},
	"bursts, one a millisecond": {mean: time.Millisecond, burst: true},
}

// Keys modulo a number of shards are evenly spread, as StartRandom promises, at every
// rate. The arrivals have a fixed seed, and the starts of ticks a fixed secret, so that
// the result is always the same.
func TestLowBitsAreEven(t *testing.T) {
	t.Parallel()
	for name, when := range everyArrival {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, keys := range streams(t, when, snowflake.StartRandom) {
				pairs := pairsInTicks(keys)
				for _, m := range moduli {
					if p := chiSquare(keys, pairs, m); p <= 0.001 {
						t.Errorf("%s modulo %d: p = %.2g, want more than 0.001", name, m, p)
					}
				}
			}
		})
	}
}

// The keys of StartZero are skewed at every rate. chiSquare must find that, or its result
// for StartRandom would prove nothing.
func TestLowBitsAreNotEvenFromZero(t *testing.T) {
	t.Parallel()
	for name, when := range everyArrival {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, keys := range streams(t, when, snowflake.StartZero) {
				if p := chiSquare(keys, pairsInTicks(keys), 1024); p > 0.001 {
					t.Errorf("%s, from zero, modulo 1024: p = %.2g, want a skew", name, p)
				}
			}
		})
	}
}

// streams issues orders with ten lines each. It returns the keys of the orders, of the
// lines, and of both.
func streams(t *testing.T, when arrivals, start snowflake.SequenceStart) map[string][]id {
	t.Helper()
	s := &script{wall: date("2026-11-20T12:00:00Z")}
	r := rand.New(rand.NewPCG(1, uint64(when.mean)))
	g, err := snowflake.New(newWindows(snowflake.TwitterLayout(), s.now, 1e6*time.Hour), snowflake.WithReadings(s.read),
		snowflake.WithSequenceStart(start), snowflake.WithMaxJump(1e6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	snowflake.SetSecret(g, 1)
	byStream := make(map[string][]id)
	for range groups {
		for i, stream := range slices.Concat([]string{"orders"}, slices.Repeat([]string{"lines"}, 10)) {
			if i == 0 || !when.burst {
				s.pass(time.Duration(r.ExpFloat64() * float64(when.mean)))
			}
			key, err := g.TryNext()
			if err != nil {
				t.Fatal(err)
			}
			byStream[stream] = append(byStream[stream], key)
			byStream["all"] = append(byStream["all"], key)
		}
	}
	return byStream
}

// pairsInTicks counts the pairs of keys of one tick by their distance, up to the number
// of sequences in a tick. A key and itself count as a pair.
func pairsInTicks(keys []id) (pairs []float64) {
	pairs = make([]float64, 4096)
	for len(keys) > 0 {
		n := slices.IndexFunc(keys, func(key id) bool { return key>>22 != keys[0]>>22 }) // the first key of another tick
		if n < 0 {
			n = len(keys)
		}
		for i, low := range keys[:n] {
			for _, high := range keys[i:n] {
				pairs[high-low]++
			}
		}
		keys = keys[n:]
	}
	return pairs
}

// chiSquare returns the probability that keys spread evenly over m shards would look at
// least as uneven as these keys.
//
// Keys of one tick are neighbours and not independent. For example, the keys of ten
// lines fall into ten of eleven shards, and two orders of eleven keys into the same
// shards. "Spread evenly" therefore means that each tick starts in a random shard,
// independent of other ticks. The distances within the ticks then give the covariance
// of the counts of the shards, and so the mean and the variance of the statistic. It is
// treated as a multiple of a chi-square variable with this mean and variance
// (Satterthwaite), whose tail is approximated by Wilson and Hilferty.
func chiSquare(keys []id, pairs []float64, m uint64) float64 {
	counts, covariance := make([]float64, m), make([]float64, m)
	for _, key := range keys {
		counts[uint64(key)%m]++
	}
	sum := 0.0
	for distance, n := range pairs {
		for _, d := range []uint64{uint64(distance) % m, (m - uint64(distance)%m) % m} {
			covariance[d] += n
			if sum += n; distance == 0 {
				break
			}
		}
	}
	shards, expected, statistic, variance := float64(m), float64(len(keys))/float64(m), 0.0, 0.0
	for d, n := range counts {
		statistic += (n - expected) * (n - expected) / expected
		covariance[d] = (covariance[d] - sum/shards) / shards
		variance += 2 * shards * covariance[d] * covariance[d] / (expected * expected)
	}
	mean := shards * covariance[0] / expected
	if mean < 1e-6 {
		return 1 // every single tick is spread evenly
	}
	k := 2 * mean * mean / variance
	z := (math.Cbrt(statistic/mean) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2) / 2
}
