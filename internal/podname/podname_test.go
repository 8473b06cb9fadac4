package podname_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/podname"
)

// TestOrdinal checks the ordinals of host names, and that names that no StatefulSet gives
// to its pods are errors.
func TestOrdinal(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int64{"web-0": 0, "web-7": 7, "my-web-12": 12, "web-3.web.default.svc.cluster.local": 3} {
		if got, err := podname.Ordinal(host); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", host, got, err, want)
		}
	}
	for _, host := range []string{"", "web", "web-", "web-x", "7", "web-7f9c6d", "web--", "web-99999999999", "web-+1", "web-007", "web-00"} {
		if got, err := podname.Ordinal(host); err == nil || !strings.Contains(err.Error(), "want the name of a StatefulSet's pod such as web-0") {
			t.Errorf("%q: %d, %v, want an error", host, got, err)
		}
	}
}
