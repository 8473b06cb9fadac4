// Package compatible tells PostgreSQL, MySQL and MariaDB from engines that only
// speak their protocols: settings have the same names there and mean nothing.
package compatible

import "strings"

// marks are what version() returns parts of. An engine that answers as the one
// whose protocol it speaks, as Aurora DSQL does, has none.
var marks = []struct{ text, engine string }{
	{"TiDB", "TiDB"},
	{"CockroachDB", "CockroachDB"},
	{"-YB-", "YugabyteDB"},
}

// Engine returns the name of the engine whose version() is version, and "" for
// PostgreSQL, MySQL, MariaDB and whatever cannot be told from them.
func Engine(version string) string {
	for _, m := range marks {
		if strings.Contains(version, m.text) {
			return m.engine
		}
	}
	return ""
}
