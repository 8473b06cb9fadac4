package fill

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// note holds the state that the callbacks of one statement share, which are [Create],
// [BeforeInsert] and [AfterInsert]. It is in the settings of the statement. Most statements
// need no note.
type note struct {
	nested         bool            // GORM saves the rows for a relation of other rows
	filled         bool            // the plugin has set a key of nested rows
	numberedKeys   []types.ID      // by row, the key from which its serial numbers were made
	omits          bool            // the statement omits a tagged column, as [checkOmitted] allows
	report         reportKind      // the way to report keys for which [prepare] changed the statement
	sentRows       rowview.Rows    // the slice as it was sent, because GORM may shorten the caller's slice
	rememberedKeys []reflect.Value // by row, a struct with the keys that [restoreKeys] writes back
}

const (
	noteSetting = "gormflake:note"

	// savedByGORM is the setting in which GORM keeps the related rows that it has saved.
	// The setting exists in the first callback of a statement only if another statement
	// saves the rows of this statement.
	savedByGORM = "gorm:saved_association_map"
)

// beginNote removes the note of another statement from the settings. There may be such a
// note, because a statement may be used again, and because GORM copies the settings of a
// parent's statement to the statements of its children. beginNote then notes whether GORM
// saves the rows of this statement for a relation of other rows.
func beginNote(stmt *gorm.Statement) {
	stmt.Settings.Delete(noteSetting)
	if _, nested := stmt.Settings.Load(savedByGORM); nested {
		noteForWriting(stmt).nested = true
	}
}

// readNote returns a copy of the statement's note, for reading. It returns the zero note if
// the statement has none, and does not create one.
func readNote(stmt *gorm.Statement) note {
	if stored, ok := stmt.Settings.Load(noteSetting); ok {
		return *stored.(*note)
	}
	return note{}
}

// noteForWriting returns the statement's note, for writing. It creates the note if the
// statement has none.
func noteForWriting(stmt *gorm.Statement) *note {
	stored, _ := stmt.Settings.LoadOrStore(noteSetting, &note{})
	return stored.(*note)
}
