package postgres

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// fixes of errors, by their state.
var fixes = map[string]string{
	pgsql.LockNotAvailable:      "another transaction holds a lock on the table; end it, or try again with a longer lock timeout or at a quieter time",
	pgsql.DeadlockDetected:      "another transaction took its locks in another order; try again",
	pgsql.InsufficientPrivilege: "the tables' owner may do this",
}

// explain adds what the server has said of the cause, which the text of the
// drivers' errors leaves out, and the fix to errors that ask for one.
func explain(err error) error {
	var server interface {
		error
		SQLState() string
	}
	if !errors.As(err, &server) {
		return err
	}
	for _, field := range []string{"Detail", "Hint"} {
		if text := fieldOf(server, field); text != "" {
			err = fmt.Errorf("%w: %s: %s", err, field, text)
		}
	}
	if where, _, _ := strings.Cut(fieldOf(server, "Where"), "\n"); where != "" && server.SQLState() == pgsql.LockNotAvailable {
		err = fmt.Errorf("%w: %s", err, where)
	}
	if fix := fixes[server.SQLState()]; fix != "" {
		err = fmt.Errorf("%w: %s", err, fix)
	}
	return err
}

// fieldOf reads a field that both drivers' errors have under the same name: this
// package imports neither.
func fieldOf(err error, name string) string {
	value := reflect.Indirect(reflect.ValueOf(err))
	if value.Kind() != reflect.Struct {
		return ""
	}
	if field := value.FieldByName(name); field.IsValid() && field.Kind() == reflect.String {
		return field.String()
	}
	return ""
}
