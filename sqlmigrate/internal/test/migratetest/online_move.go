package migratetest

import (
	"reflect"
	"unsafe"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// keptOf returns the unexported move of an online plan.
func keptOf(p *sqlmigrate.OnlinePlan) *engine.Move {
	field := reflect.ValueOf(p).Elem().FieldByName("move")
	return *(**engine.Move)(unsafe.Pointer(field.UnsafeAddr())) //nolint:gosec // for tests, of a field of this module
}
