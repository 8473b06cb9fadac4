// Package pgsql writes the parts of PostgreSQL's SQL that both ways of moving
// tables need, with locks and online.
package pgsql

import (
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Quote quotes an identifier. It always does: which words are reserved differs
// between versions.
func Quote(name string) string { return Qualified("", name) }

// Qualified quotes a name with its schema, which may be empty.
func Qualified(schema, name string) string {
	return engine.TableName{Schema: schema, Name: name}.Quoted(`"`)
}

// Literal quotes a string so that it reads the same whatever
// standard_conforming_strings is. It stays on one line: tools that split files
// go by how lines begin.
func Literal(s string) string {
	if !strings.ContainsAny(s, "\\\n\r") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}
