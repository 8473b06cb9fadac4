package service_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/types"
)

// A sink is a ResponseWriter that discards the answer.
type sink struct {
	header http.Header
	bytes  int
}

func (s *sink) Header() http.Header            { return s.header }
func (s *sink) WriteHeader(int)                {}
func (s *sink) Write(text []byte) (int, error) { s.bytes += len(text); return len(text), nil }

// A request for 10,000 IDs makes only a few dozen more allocations than a request for one ID,
// so the service does not allocate for each ID.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	handler := open(t, fixedGenerator(t))
	cost := func(target string) float64 {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		w := &sink{header: http.Header{}}
		return testing.AllocsPerRun(200, func() { handler.ServeHTTP(w, r) })
	}
	one, many := cost("/v1/ids"), cost("/v1/ids?count=10000")
	// A request allocates for its deadline, the length in the header, and the metrics.
	// 10,000 IDs also wait for the next tick, and set a deadline for each chunk.
	const most, waiting = 9, 40
	if one > most || many > most+waiting {
		t.Errorf("%v allocations for one ID and %v for 10,000, want at most %d and %d", one, many, most, most+waiting)
	}
	t.Logf("%v allocations for one ID, %v for 10,000", one, many)
}

// BenchmarkIssue measures requests without a network, for 1 and for 1,000 IDs.
func BenchmarkIssue(b *testing.B) {
	for name, target := range map[string]string{"1": "/v1/ids", "1000": "/v1/ids?count=1000"} {
		b.Run(name, func(b *testing.B) {
			handler := open(b, fixedGenerator(b))
			r := httptest.NewRequest(http.MethodGet, target, nil)
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkFill measures the IDs without HTTP, as a lower limit for BenchmarkIssue.
func BenchmarkFill(b *testing.B) {
	gen, dst := fixedGenerator(b), make([]types.ID, 1000)
	for b.Loop() {
		if err := gen.Fill(b.Context(), dst); err != nil {
			b.Fatal(err)
		}
	}
}
