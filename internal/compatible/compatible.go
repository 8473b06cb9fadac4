// Package compatible distinguishes PostgreSQL, MySQL and MariaDB from engines that
// only speak their protocols, where settings of the same names mean nothing.
package compatible

import "strings"

// marks are texts that version() contains. An engine without one, such as Aurora
// DSQL, is not recognised.
var marks = []struct{ text, engine string }{
	{"TiDB", "TiDB"},
	{"CockroachDB", "CockroachDB"},
	{"-YB-", "YugabyteDB"},
}

// Engine returns the name of the engine whose version() is version, and "" for
// PostgreSQL, MySQL, MariaDB and all engines that are not recognised.
func Engine(version string) string {
	for _, m := range marks {
		if strings.Contains(version, m.text) {
			return m.engine
		}
	}
	return ""
}
