package testdb

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const requireVariable = "GORMFLAKE_TEST_REQUIRE"

// service is a server that the tests use if an environment variable names it.
type service struct {
	name     string // as in GORMFLAKE_TEST_REQUIRE
	title    string
	variable string
	example  string
}

var (
	mysqlService = service{
		"mysql", "MySQL", "GORMFLAKE_TEST_MYSQL",
		"mysql://root@127.0.0.1:3306/test",
	}
	postgresService = service{
		"postgres", "PostgreSQL", "GORMFLAKE_TEST_POSTGRES",
		"postgres://postgres@127.0.0.1:5432/test?sslmode=disable",
	}
)

// knownNames are all that may be required; modules of their own test chromium.
var knownNames = []string{mysqlService.name, postgresService.name, "chromium"}

func services() []service { return []service{mysqlService, postgresService} }

// url returns the server's URL, or ends t where none is set.
func (s service) url(t testing.TB) string {
	t.Helper()
	url := os.Getenv(s.variable)
	if url != "" {
		return url
	}
	hint := fmt.Sprintf("testdb: no %s server: set %s, e.g. to %s", s.title, s.variable, s.example)
	if s.required() {
		t.Fatalf("%s (%s names %s)", hint, requireVariable, s.name)
	}
	t.Skip(hint)
	return ""
}

func (s service) required() bool {
	return slices.Contains(requiredNames(), s.name)
}

// checkRequired fails t if GORMFLAKE_TEST_REQUIRE has a name that requires
// nothing: a misspelled one would let the tests be skipped.
func checkRequired(t testing.TB) {
	t.Helper()
	for _, name := range requiredNames() {
		if !slices.Contains(knownNames, name) {
			t.Fatalf("testdb: %s=%q: unknown name %q: want a comma-separated list of %s",
				requireVariable, os.Getenv(requireVariable), name, strings.Join(knownNames, ", "))
		}
	}
}

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
