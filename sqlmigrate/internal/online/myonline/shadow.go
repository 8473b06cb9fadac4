package myonline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A move creates a shadow of each table of the connected set. A shadow is a table with
// wide columns, which triggers and a copy fill, parents first, and which has foreign keys
// to the other shadows. A single RENAME puts all shadows in the place of the original
// tables. The move takes locks in the same order as programs, first the row of the
// original, then the row of the shadow.

// A movingTable is a table of a move. It also describes the shadow of the table.
type movingTable struct {
	*mycatalog.Table

	widenings   []widening // the columns that have a new type in the shadow
	fingerprint string     // a hash of its definition when it was planned, see [mycatalog.Table.Fingerprint]
	mysql       bool       // whether the server is MySQL, and not MariaDB
}

// A widening is a column and its new type.
type widening struct {
	*mycatalog.Column

	to mycatalog.Integer
}

// contains reports whether the table is one of tables.
func contains(tables []movingTable, name plan.TableName) bool {
	return slices.ContainsFunc(tables, func(s movingTable) bool { return s.TableName == name })
}

// longestName is the largest length of a name. The name of a trigger is the longest name
// that a move derives from a table.
const longestName = 64

// shadowName returns the name of the shadow of a table. The suffixes of shadowName and
// oldName both have six characters, by which the survey of package mysql excludes these
// tables.
func shadowName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfnew"}
}

// oldName returns the name of the original table after the swap.
func oldName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfold"}
}

// triggerName returns the name of the move's trigger for an event, which is INSERT,
// UPDATE or DELETE.
func triggerName(t plan.TableName, event string) string {
	return "_" + t.Name + "_sf" + strings.ToLower(event[:3]) // ins, upd or del
}

// shadowForeignName returns a name for the shadow's foreign key. The names of foreign
// keys are unique in a database, and the original still has its name.
func shadowForeignName(f mycatalog.ForeignKey) string {
	sum := sha256.Sum256([]byte(f.Child.Name + "\x00" + f.Name))
	return "_sf_" + hex.EncodeToString(sum[:])[:24]
}
