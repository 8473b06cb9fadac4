package fill

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// A note is what the callbacks of one statement leave for each other. Most statements
// need none.
type note struct {
	nested   bool            // GORM saves the rows for a relation of other rows
	filled   bool            // a key of nested rows was unset
	numbered []types.ID      // the keys from which the serial numbers of the rows were made
	omits    bool            // a tagged column is omitted that the rows lack, and GORM may set it
	report   report          // the report for which [prepare] has asked
	rows     rowview.Rows    // the slice as it was sent, because GORM may shorten the caller's
	keys     []reflect.Value // structs with the keys that GORM may replace
}

const (
	noteSetting = "gormflake:note"

	// savedByGORM is where GORM keeps the related rows that it has saved. The setting
	// exists in the first callback of a statement only if another statement saves
	// this one's rows.
	savedByGORM = "gorm:saved_association_map"
)

// begin removes the note of another statement: a statement may be used again, and GORM
// copies the settings of a parent's statement to its children's.
func begin(stmt *gorm.Statement) {
	stmt.Settings.Delete(noteSetting)
	if _, nested := stmt.Settings.Load(savedByGORM); nested {
		noteOf(stmt).nested = true
	}
}

// noted returns the statement's note, for reading.
func noted(stmt *gorm.Statement) note {
	if stored, ok := stmt.Settings.Load(noteSetting); ok {
		return *stored.(*note)
	}
	return note{}
}

// noteOf returns the statement's note, for writing.
func noteOf(stmt *gorm.Statement) *note {
	stored, _ := stmt.Settings.LoadOrStore(noteSetting, &note{})
	return stored.(*note)
}
