package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// service is a server that the tests use if an environment variable names it.
type service struct {
	name     string // name in GORMFLAKE_TEST_REQUIRE
	title    string // name in messages
	variable string // the variable that contains the server's URL
	example  string // such a URL
}

var (
	mariadbService = service{
		name: "mariadb", title: "MariaDB", variable: "GORMFLAKE_TEST_MARIADB",
		example: "mysql://root@127.0.0.1:3306/test",
	}
	mysqlService = service{
		name: "mysql", title: "MySQL", variable: "GORMFLAKE_TEST_MYSQL",
		example: "mysql://root@127.0.0.1:3307/test",
	}
	postgresService = service{
		name: "postgres", title: "PostgreSQL", variable: "GORMFLAKE_TEST_POSTGRES",
		example: "postgres://postgres@127.0.0.1:5432/test?sslmode=disable",
	}
)

// services returns the servers of all targets, in the order in which messages list them.
func services() []service { return []service{mariadbService, mysqlService, postgresService} }

// serviceOf returns the service of a target that needs a server.
func serviceOf(target Target) service {
	all := services()
	return all[slices.IndexFunc(all, func(s service) bool { return s.name == string(target) })]
}

// check returns an error if the server is of another kind than the service.
func (s service) check(admin *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	var version string
	if err := admin.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return err
	}
	if got := titleOf(version); got != s.title {
		return fmt.Errorf("it is %s (version %s): want %s", got, version, s.title)
	}
	return nil
}

// titleOf returns the title of the service whose servers report this version.
func titleOf(version string) string {
	switch {
	case strings.HasPrefix(version, "PostgreSQL"):
		return postgresService.title
	case strings.Contains(version, "MariaDB"):
		return mariadbService.title
	}
	return mysqlService.title
}

// url returns the server's URL. It skips t, or fails it, if no URL is set.
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
