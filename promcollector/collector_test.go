package promcollector_test

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/promcollector"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// layout has an epoch before the time at which a bubble of testing/synctest begins.
func layout() snowflake.Layout {
	return snowflake.Layout{
		Epoch: time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC), Tick: time.Millisecond,
		DatacenterBits: 1, WorkerBits: 5, SequenceBits: 12,
	}
}

// leasedGenerator returns a generator whose worker is leased from the store.
func leasedGenerator(t *testing.T, store lease.Store, opts ...lease.Option) *snowflake.Generator {
	t.Helper()
	opts = append([]lease.Option{lease.WithLogger(slog.New(slog.DiscardHandler))}, opts...)
	l, err := lease.Acquire(t.Context(), store, layout(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return generator(t, l)
}

// generator returns a generator, and closes it at the end of the test.
func generator(t *testing.T, src snowflake.WorkerSource, opts ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(src, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// registry registers the collectors in a registry that checks their metrics.
func registry(t *testing.T, collectors ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// values returns the values of all series. A series with labels is named
// name,label=value.
func values(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += "," + label.GetName() + "=" + label.GetValue()
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}

// expect checks that got has the series of want. It accepts further series in got.
func expect(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if v, found := got[name]; !found || v != value {
			t.Errorf("%s = %v (found: %v), want %v", name, v, found, value)
		}
	}
}

// TestFixedWorker compares the metrics with a golden list, because a changed name breaks
// dashboards and alerts.
func TestFixedWorker(t *testing.T) {
	t.Parallel()
	gen := generator(t, snowflake.Static(0, 11))
	issued := 0
	for ; gen.Stats().Waits == 0; issued += 12_345 { // several ticks of IDs, for which a call waits unless it is delayed
		if err := gen.Fill(t.Context(), make([]types.ID, 12_345)); err != nil {
			t.Fatal(err)
		}
	}
	got := values(t, registry(t, promcollector.New(gen)))
	stats := gen.Stats()
	want := map[string]float64{
		"gormflake_healthy":                             1,
		"gormflake_ids_issued_total":                    float64(issued),
		"gormflake_waits_total":                         float64(stats.Waits),
		"gormflake_refusals_total":                      0,
		"gormflake_lead_seconds":                        0,
		"gormflake_clock_backward_steps_total":          0,
		"gormflake_clock_largest_backward_step_seconds": 0,
		"gormflake_layout_expiry_timestamp_seconds":     float64(snowflake.TwitterLayout().Expires().UnixMilli()) / 1000,
		"gormflake_layout_workers":                      1024,
	}
	expect(t, got, want)
	if len(got) != len(want) {
		t.Errorf("got %d series %v, want %d", len(got), got, len(want))
	}
}

// clockRuns makes the clock of each run begin later than the clock of the last run,
// because the process remembers when the worker was last used.
var clockRuns atomic.Int64

// TestClockSteps checks the metrics after a clock has stepped back twice. The second step is
// further than the generator tolerates, so the call is refused and the generator is unhealthy.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(clockRuns.Add(1)) * time.Hour)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	set := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	gen := generator(t, snowflake.Static(0, 12), snowflake.WithClock(clock), snowflake.OnClockBackwards(snowflake.Tolerate(time.Second)))
	for _, step := range []time.Duration{time.Second, -500 * time.Millisecond, time.Second, -3 * time.Second} {
		set(step)
		_, _ = gen.Next(t.Context())
	}
	expect(t, values(t, registry(t, promcollector.New(gen))), map[string]float64{
		"gormflake_clock_backward_steps_total":          2,
		"gormflake_clock_largest_backward_step_seconds": 3,
		"gormflake_refusals_total":                      1,
		"gormflake_lead_seconds":                        3,
		"gormflake_healthy":                             0,
	})
}

// TestLease checks the metrics of a lease that has extended its window.
func TestLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		begun := time.Now()
		gen := leasedGenerator(t, store, lease.WithWorker(7), lease.WithDatacenter(1), lease.WithWindow(time.Minute))
		r := registry(t, promcollector.New(gen))
		time.Sleep(100 * time.Second)
		synctest.Wait()
		stats := gen.Source().(*lease.Lease).Stats()
		expect(t, values(t, r), map[string]float64{
			"gormflake_healthy":                           1,
			"gormflake_lease_since_timestamp_seconds":     float64(begun.Unix()),
			"gormflake_lease_until_timestamp_seconds":     float64(stats.Until.UnixMilli()) / 1000,
			"gormflake_lease_outage_seconds":              0,
			"gormflake_lease_extensions_total":            float64(stats.Extensions),
			"gormflake_lease_failures_total":              0,
			"gormflake_lease_losses_total":                0,
			"gormflake_lease_regressions_total":           0,
			"gormflake_worker_info,datacenter=1,worker=7": 1,
		})
		if stats.Extensions == 0 {
			t.Error("no extension within 100 seconds")
		}
		gen.Close(t.Context())
	})
}

// TestOutage checks the metrics of a fenced generator that recovers, on which the alerts
// of the package comment depend.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := leasedGenerator(t, store, lease.WithWindow(time.Minute))
		r := registry(t, promcollector.New(gen))
		store.Down()
		time.Sleep(90 * time.Second)
		if _, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("Next = %v, want ErrFenced", err)
		}
		down := values(t, r)
		expect(t, down, map[string]float64{"gormflake_healthy": 0, "gormflake_refusals_total": 1})
		if s := down["gormflake_lease_outage_seconds"]; s < 30 || s > 90 || down["gormflake_lease_failures_total"] == 0 {
			t.Errorf("outage of %v s, %v failures: want 30 to 90 s, and failures", s, down["gormflake_lease_failures_total"])
		}
		if left := down["gormflake_lease_until_timestamp_seconds"] - float64(time.Now().Unix()); left > 0 {
			t.Errorf("%v s are left of the window of a fenced lease", left)
		}
		store.Up()
		time.Sleep(time.Minute)
		expect(t, values(t, r), map[string]float64{"gormflake_healthy": 1, "gormflake_lease_outage_seconds": 0})
		gen.Close(t.Context())
		expect(t, values(t, r), map[string]float64{"gormflake_healthy": 0})
	})
}

// TestLintClean checks the names and texts of the metrics by Prometheus' linter, and that
// the linter finds a mistake.
func TestLintClean(t *testing.T) {
	t.Parallel()
	for name, gen := range map[string]*snowflake.Generator{
		"fixed": generator(t, snowflake.Static(0, 13)), "leased": leasedGenerator(t, leasetest.NewMemory()),
	} {
		problems, err := testutil.CollectAndLint(promcollector.New(gen))
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
	}
	broken := strings.NewReader("# TYPE gormflake_waits counter\ngormflake_waits 1\n")
	if problems, err := promlint.New(broken).Lint(); err != nil || len(problems) == 0 {
		t.Errorf("the linter takes anything: %v, %v", problems, err)
	}
}

// TestDocumented checks that the package comment lists every metric, and no other.
func TestDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "collector.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comment := file.Doc.Text()
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\t(gormflake_\w+)(?:{[a-z,]+})?  +\S`).FindAllStringSubmatch(comment, -1) {
		listed = append(listed, m[1])
	}
	mentioned := regexp.MustCompile(`gormflake_\w+`).FindAllString(comment, -1)
	got := names(t)
	slices.Sort(listed)
	if !slices.Equal(listed, got) {
		t.Errorf("listed %q\nwant %q", listed, got)
	}
	for _, name := range mentioned {
		if !slices.Contains(got, name) {
			t.Errorf("the package comment mentions %s, which there is not", name)
		}
	}
}

// TestWithLabels checks that two generators of a process can share a registry if their
// labels differ.
func TestWithLabels(t *testing.T) {
	t.Parallel()
	orders := promcollector.New(generator(t, snowflake.Static(0, 14)), promcollector.WithLabels(prometheus.Labels{"generator": "orders"}))
	events := promcollector.New(leasedGenerator(t, leasetest.NewMemory()), promcollector.WithLabels(prometheus.Labels{"generator": "events"}))
	got := values(t, registry(t, orders, events))
	expect(t, got, map[string]float64{
		"gormflake_ids_issued_total,generator=orders": 0,
		"gormflake_ids_issued_total,generator=events": 0,
		"gormflake_healthy,generator=events":          1,
	})
}

// TestRefused checks that a mistake is returned when the collector is registered, because
// New returns no error.
func TestRefused(t *testing.T) {
	t.Parallel()
	fixed := generator(t, snowflake.Static(0, 15))
	labels := func(name string) promcollector.Option {
		return promcollector.WithLabels(prometheus.Labels{name: "x"})
	}
	for _, test := range []struct {
		name      string
		collector prometheus.Collector
		want      string
	}{
		{"no generator", promcollector.New(nil), "promcollector: New(nil): want a generator"},
		{"no option", promcollector.New(fixed, nil), "promcollector: option 1 is nil"},
		{"reserved label", promcollector.New(fixed, labels("__name")), "__name"},
		{"label twice", promcollector.New(leasedGenerator(t, leasetest.NewMemory()), labels("worker")), "duplicate label"},
	} {
		err := prometheus.NewRegistry().Register(test.collector)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
	r := registry(t, promcollector.New(fixed))
	if err := r.Register(promcollector.New(fixed)); err == nil {
		t.Error("the same generator is registered twice")
	}
}

// TestWrappedLease checks that the collector accepts a source that embeds a lease, and
// exports the health of its generator.
func TestWrappedLease(t *testing.T) {
	t.Parallel()
	l, err := lease.Acquire(t.Context(), leasetest.NewMemory(), layout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	gen := generator(t, struct{ *lease.Lease }{l})
	expect(t, values(t, registry(t, promcollector.New(gen))), map[string]float64{"gormflake_healthy": 1})
}
