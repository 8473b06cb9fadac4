//go:build !ncruces

package ncruces_test

import (
	"os/exec"
	"testing"
)

// TestNcrucesSQLite runs the tests without optimizations. SQLite in Go is one package,
// for which the compiler needs 2 GB, and less than half of it without optimizations.
func TestNcrucesSQLite(t *testing.T) {
	t.Parallel()
	test := exec.CommandContext(t.Context(), "go", "test", "-tags=ncruces", "-vet=off", "-gcflags=github.com/ncruces/go-sqlite3-wasm/v2=-N -l", ".")
	if out, err := test.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
