package testdb

import "testing"

// MainMissing runs Main as on a machine on which these servers are not installed.
func MainMissing(m *testing.M, titles, commands []string) {
	run(m, skippedNote()+missingNote(titles, commands))
}
