//go:build !ncruces

package ncruces_test

import (
	"os/exec"
	"testing"
)

// SQLite in Go is one package of 2 GB to the compiler, and of less than half as much
// without optimizations.
func TestNcrucesSQLite(t *testing.T) {
	t.Parallel()
	test := exec.CommandContext(t.Context(), "go", "test", "-tags=ncruces", "-vet=off", "-gcflags=github.com/ncruces/go-sqlite3-wasm/v2=-N -l", ".")
	if out, err := test.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
