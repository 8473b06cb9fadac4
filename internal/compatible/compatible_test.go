package compatible_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/compatible"
)

// TestEngine checks that Engine recognises each engine of marks, and no other server. The
// versions are quoted in the documentation and issues of the engines, or come from the
// servers on which tests run.
func TestEngine(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"8.0.11-TiDB-v7.5.0": "TiDB",
		"CockroachDB CCL v22.2.2 (x86_64-pc-linux-gnu, built 2023/01/04 17:23:00, go1.19.1)": "CockroachDB",
		"PostgreSQL 11.2-YB-2.5.1.0-b0 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit":      "YugabyteDB",
		"PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu":                           "YugabyteDB",

		"PostgreSQL 15.13 (Debian 15.13-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit": "",
		"10.11.14-MariaDB-0+deb12u2-log": "",
		"8.0.44":                         "",
		"8.0.30-Vitess":                  "",
		"PostgreSQL 16":                  "",
		"":                               "",
	} {
		if got := compatible.Engine(version); got != want {
			t.Errorf("Engine(%q) = %q, want %q", version, got, want)
		}
	}
}
