package testserver

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The variables that say which tests must run, and that tests may start servers.
const (
	requireVariable = "GORMFLAKE_TEST_REQUIRE"
	serversVariable = "GORMFLAKE_TEST_SERVERS"
)

// knownNames returns all names that GORMFLAKE_TEST_REQUIRE may contain.
func knownNames() (names []string) {
	for _, e := range engines {
		names = append(names, e.service)
	}
	return slices.Concat(names, programs, []string{loopDevice})
}

// Required reports whether GORMFLAKE_TEST_REQUIRE names the service. A test that needs
// the service then fails, and is not skipped, if the service is missing.
func Required(service string) bool {
	return slices.Contains(requiredNames(), service)
}

// CheckRequired fails t if GORMFLAKE_TEST_REQUIRE contains an unknown name, because tests
// would be skipped if a name is misspelled. It also fails t if GORMFLAKE_TEST_SERVERS is
// invalid.
func CheckRequired(t testing.TB) {
	t.Helper()
	if value := os.Getenv(serversVariable); value != "" && value != "all" {
		t.Fatalf("testserver: %s=%q: want all, or leave it unset", serversVariable, value)
	}
	for _, name := range requiredNames() {
		if !slices.Contains(knownNames(), name) {
			t.Fatalf("testserver: %s=%q: unknown name %q: want a comma-separated list of %s",
				requireVariable, os.Getenv(requireVariable), name, strings.Join(knownNames(), ", "))
		}
	}
}

// Missing returns the titles of the servers that tests do not start, and the commands
// that install the servers that are not installed.
func Missing() (titles, commands []string) {
	for _, e := range engines {
		if _, err := e.locate(); err == nil {
			continue
		}
		titles = append(titles, e.title)
		if _, err := e.find(); err != nil {
			commands = append(commands, e.install())
		}
	}
	return titles, commands
}

// requiredNames returns the names in GORMFLAKE_TEST_REQUIRE.
func requiredNames() []string {
	value := os.Getenv(requireVariable)
	if value == "" {
		return nil
	}
	names := strings.Split(value, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
