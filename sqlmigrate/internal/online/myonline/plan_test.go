package myonline_test

import (
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
)

func TestIsSupported(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"10.11.19-MariaDB-0+deb12u1": true,
		"10.6.1-MariaDB":             true,
		"11.4.2-MariaDB":             true,
		"10.5.28-MariaDB":            false,
		"5.5.68-MariaDB":             false,
		"MySQL 8.0.36":               true,
		"MySQL 9.7.4":                true,
		"MySQL 5.7.44":               false,
		"MySQL":                      false,
		"MariaDB":                    false,
	} {
		if got := myonline.IsSupported(version); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
