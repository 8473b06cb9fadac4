package testdb

import (
	"fmt"
	"os"
	"testing"

	"github.com/gormflake/gormflake/internal/testserver"
)

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

func services() []service { return []service{mysqlService, postgresService} }

// url returns the server's URL, or ends t where none is set.
func (s service) url(t testing.TB) string {
	t.Helper()
	url := os.Getenv(s.variable)
	if url != "" {
		return url
	}
	hint := fmt.Sprintf("testdb: no %s server: set %s, e.g. to %s", s.title, s.variable, s.example)
	if testserver.Required(s.name) {
		t.Fatalf("%s (GORMFLAKE_TEST_REQUIRE names %s)", hint, s.name)
	}
	t.Skip(hint)
	return ""
}
