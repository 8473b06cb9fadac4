package snowflake_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/podname"
	"github.com/gormflake/gormflake/snowflake"
)

// FromEnv rejects a variable that is missing or not a number. If it took zero instead,
// every process would have the same worker. This test is not parallel, because it sets
// the environment.
func TestFromEnv(t *testing.T) {
	two := freshLayout()
	two.DatacenterBits = 1
	for _, tt := range []struct {
		name               string
		datacenter, worker string
		layout             snowflake.Layout
		want               string // error, or empty
	}{
		{"both", "1", "31", freshLayout(), ""},
		{"no worker", "1", "unset", freshLayout(), "snowflake: SNOWFLAKE_WORKER_ID is not set"},
		{"no datacenter", "unset", "1", freshLayout(), "snowflake: SNOWFLAKE_DATACENTER_ID is not set"},
		{"no datacenter of two", "unset", "1", two, "snowflake: SNOWFLAKE_DATACENTER_ID is not set"},
		{"no datacenter in the layout", "unset", "1", snowflake.JSSafeLayout(), ""},
		{"a datacenter all the same", "1", "1", snowflake.JSSafeLayout(), "snowflake: datacenter 1 out of range [0, 0]"},
		{"empty", "1", "", freshLayout(), `snowflake: SNOWFLAKE_WORKER_ID="": want a number`},
		{"sign", "1", "+1", freshLayout(), `snowflake: SNOWFLAKE_WORKER_ID="+1": want a number`},
		{"text", "one", "1", freshLayout(), `snowflake: SNOWFLAKE_DATACENTER_ID="one": want a number`},
		{"too large", "1", "32", freshLayout(), "snowflake: worker 32 out of range [0, 31]"},
		{"too large for any layout", "1", "2147483648", freshLayout(), `snowflake: SNOWFLAKE_WORKER_ID="2147483648": want a number`},
		{"overflow", "1", "18446744073709551617", freshLayout(), `want a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.datacenter != "unset" {
				t.Setenv("SNOWFLAKE_DATACENTER_ID", tt.datacenter)
			}
			if tt.worker != "unset" {
				t.Setenv("SNOWFLAKE_WORKER_ID", tt.worker)
			}
			g, err := snowflake.New(snowflake.FromEnv(), snowflake.WithLayout(tt.layout))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = g.Close(ctx)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FromStatefulSet takes the worker from the name of this machine, or fails if the name
// has no ordinal. The tests of package podname check how the ordinal is read.
func TestFromStatefulSet(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ordinal, wrong := podname.Ordinal(host)
	l := freshLayout()
	l.WorkerBits, l.SequenceBits = 17, 0
	g, err := snowflake.New(snowflake.FromStatefulSet(3), snowflake.WithLayout(l))
	if wrong != nil {
		if err == nil || err.Error() != "snowflake: "+wrong.Error() {
			t.Errorf("got %v, want %v", err, wrong)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(ctx)
	if datacenter, worker := g.Worker(); datacenter != 3 || worker != ordinal {
		t.Errorf("datacenter %d worker %d, want 3 and %d", datacenter, worker, ordinal)
	}
}
