package myonline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// The tables of a move are all tables that foreign keys connect. The move creates a shadow of
// each table. A shadow is a table with wide columns, whose foreign keys refer to the other
// shadows. Triggers and a copy fill the shadows, parents first. A single RENAME puts all shadows
// in the place of the original tables. The copy locks rows in the same order as a write of a
// program and its trigger, first the row of the original, then the row of the shadow.

// A movingTable is a table of a move. It also describes the shadow of the table.
type movingTable struct {
	*mycatalog.Table

	widenings   []widening // the columns that have a new type in the shadow
	fingerprint string     // a hash of the table's definition when the move was planned, see [mycatalog.Table.Fingerprint]
	mysql       bool       // whether the server is MySQL, and not MariaDB
}

// A widening is a column and its new type in the shadow.
type widening struct {
	*mycatalog.Column

	to mycatalog.Integer
}

// contains reports whether tables contains a table with this name.
func contains(tables []movingTable, name plan.TableName) bool {
	return slices.ContainsFunc(tables, func(s movingTable) bool { return s.TableName == name })
}

// longestName is the largest length of a name on the servers. The name of a trigger, such as
// _orders_sfins, and the name of a shadow, such as _orders_sfnew, add the most characters to
// the name of a table.
const longestName = 64

// shadowName returns the name of the shadow of a table, for example _orders_sfnew. Package
// mysql, when it searches a database for narrow columns, leaves out the tables of shadowName
// and oldName. It recognizes them by their last six characters.
func shadowName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfnew"}
}

// oldName returns the name of the original table after the swap, for example _orders_sfold.
func oldName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfold"}
}

// triggerName returns the name of the move's trigger for an event, which is INSERT, UPDATE or
// DELETE. For example, it returns _orders_sfins for INSERT.
func triggerName(t plan.TableName, event string) string {
	return "_" + t.Name + "_sf" + strings.ToLower(event[:3]) // ins, upd or del
}

// shadowForeignName returns the name of the shadow's foreign key that corresponds to foreign
// key f of the original. It differs from the name of f, because the names of foreign keys are
// unique in a database. It contains a hash, so that it is short enough even if the name of f has
// the largest length.
func shadowForeignName(f mycatalog.ForeignKey) string {
	sum := sha256.Sum256([]byte(f.Child.Name + "\x00" + f.Name))
	return "_sf_" + hex.EncodeToString(sum[:])[:24]
}
