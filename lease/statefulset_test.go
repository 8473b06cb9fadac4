package lease_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

const datacenterVariable = "SNOWFLAKE_DATACENTER_ID"

// WithStatefulSetWorker takes the worker from the host name, and the datacenter from the
// option, from the environment, or 0. This test is not parallel, because it sets the
// environment.
func TestStatefulSetWorker(t *testing.T) {
	inDatacenter := func(n int64) []lease.Option { return []lease.Option{lease.WithDatacenter(n)} }
	for _, test := range []struct {
		name, host     string
		datacenter     string // of the environment
		before, after  []lease.Option
		wantDatacenter int64
		wantWorker     int64
		wantErr        string // part of the error, or empty if the worker is leased
	}{
		{name: "ordinal", host: "web-1", datacenter: "unset", wantWorker: 1},
		{name: "with a domain", host: "web-1.web.default.svc.cluster.local", datacenter: "unset", wantWorker: 1},
		{name: "datacenter of the environment", host: "web-0", datacenter: "1", wantDatacenter: 1},
		{name: "option before", host: "web-0", datacenter: "1", before: inDatacenter(0)},
		{name: "option after", host: "web-0", datacenter: "1", after: inDatacenter(0)},
		{name: "no ordinal", host: "web", datacenter: "unset", wantErr: `lease: WithStatefulSetWorker: host name "web" does not end in -<ordinal>: want the name of`},
		{name: "too many pods", host: "web-2", datacenter: "unset", wantErr: "lease: WithStatefulSetWorker: worker 2 out of range [0, 1] of the layout"},
		{name: "not a number", host: "web-0", datacenter: "eu", wantErr: `lease: WithStatefulSetWorker: SNOWFLAKE_DATACENTER_ID="eu": want a number`},
		{name: "empty", host: "web-0", datacenter: "", wantErr: `SNOWFLAKE_DATACENTER_ID="": want a number`},
		{name: "too large", host: "web-0", datacenter: "2", wantErr: "lease: WithStatefulSetWorker: SNOWFLAKE_DATACENTER_ID: datacenter 2 out of range [0, 1] of the layout"},
		{name: "with a range", host: "web-0", datacenter: "unset", after: []lease.Option{lease.WithWorkers(0, 1)}, wantErr: "leave one of them out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(datacenterVariable, test.datacenter)
			if test.datacenter == "unset" {
				if err := os.Unsetenv(datacenterVariable); err != nil {
					t.Fatal(err)
				}
			}
			own := []lease.Option{lease.StatefulSetWorker(test.host), lease.WithLogger(discard())}
			l, err := lease.Acquire(t.Context(), leasetest.NewMemory(), layout(), slices.Concat(test.before, own, test.after)...)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("error = %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Release(t.Context()) }()
			if s := l.Stats(); s.Datacenter != test.wantDatacenter || s.Worker != test.wantWorker {
				t.Errorf("datacenter %d worker %d, want %d and %d", s.Datacenter, s.Worker, test.wantDatacenter, test.wantWorker)
			}
		})
	}
}
