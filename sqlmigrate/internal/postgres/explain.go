package postgres

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// SQLSTATEs.
const (
	lockNotAvailable      = "55P03"
	deadlockDetected      = "40P01"
	insufficientPrivilege = "42501"
)

// A serverError is one of the database. Both drivers for PostgreSQL have it.
type serverError interface {
	error
	SQLState() string
}

func stateOf(err error) string {
	var server serverError
	if !errors.As(err, &server) {
		return ""
	}
	return server.SQLState()
}

// explain adds what the server has said of the cause, which the text of the
// drivers' errors leaves out, and the fix to errors that ask for one.
func explain(err error) error {
	var server serverError
	if !errors.As(err, &server) {
		return err
	}
	for _, field := range []string{"Detail", "Hint"} {
		if text := fieldOf(server, field); text != "" {
			err = fmt.Errorf("%w: %s: %s", err, field, text)
		}
	}
	switch server.SQLState() {
	case lockNotAvailable:
		if where, _, _ := strings.Cut(fieldOf(server, "Where"), "\n"); where != "" {
			err = fmt.Errorf("%w: %s", err, where)
		}
		return fmt.Errorf("%w: another transaction holds a lock on the table; end it, or try again with a longer lock timeout or at a quieter time", err)
	case deadlockDetected:
		return fmt.Errorf("%w: another transaction took its locks in another order; try again", err)
	case insufficientPrivilege:
		return fmt.Errorf("%w: the tables' owner may do this", err)
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
