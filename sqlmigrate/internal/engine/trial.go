package engine

import (
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A Trial is what [Engine.Try] puts into copies of tables.
type Trial struct {
	Tables []plan.Table // as [Engine.Inspect] returns them: each of their columns holds keys

	// Moved: the copies have the types that the plan gives to the columns, and nothing
	// assigns keys in them. Else they are as the tables are.
	Moved bool

	Small types.ID // a key that tables hold today: what rejects it as well rejects the row, not the key
	Today types.ID // one that would be issued now
	Last  types.ID // the last one of the layout
}
