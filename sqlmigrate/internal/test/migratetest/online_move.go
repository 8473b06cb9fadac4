package migratetest

import (
	"reflect"
	"unsafe"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// moveOf returns the unexported field move of an online plan, because the stored form of
// the plan is part of it. It uses reflection, because the field is in another package.
func moveOf(p *sqlmigrate.OnlinePlan) *engine.Move {
	field := reflect.ValueOf(p).Elem().FieldByName("move")
	return *(**engine.Move)(unsafe.Pointer(field.UnsafeAddr())) //nolint:gosec // for tests, of a field of this module
}
