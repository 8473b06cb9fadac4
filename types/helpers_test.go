package types_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// sample is an ID that a float64 cannot hold. JavaScript reads it as
// 7529595880471527000.
const sample = types.ID(7529595880471527425)

// eachID calls f for edge cases and for random IDs of every length, including negative
// IDs.
func eachID(f func(types.ID)) {
	edges := []types.ID{0, math.MaxInt64, math.MinInt64, 1<<53 - 1, 1 << 53, 1<<53 + 1, sample}
	for _, id := range edges {
		f(id)
	}
	for power := types.ID(1); power <= 1e18 && power > 0; power *= 10 {
		for _, id := range []types.ID{power - 1, power, power + 1, -power, 9 * (power - 1)} {
			f(id)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f(types.ID(random.Uint64() >> random.UintN(64)))
	}
}

// checkError fails t unless err has exactly this text and id is zero.
func checkError(t *testing.T, id types.ID, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if id != 0 {
		t.Errorf("got ID %d with an error, want 0", int64(id))
	}
}
