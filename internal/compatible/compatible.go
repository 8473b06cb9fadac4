// Package compatible distinguishes PostgreSQL, MySQL and MariaDB from other engines that
// use their protocols. In such engines, settings of the same names have no effect.
package compatible

import "strings"

// marks are texts by which version() names an engine. Engine does not recognise engines
// whose version() has no mark, such as Aurora DSQL.
var marks = []struct{ text, engine string }{
	{"TiDB", "TiDB"},
	{"CockroachDB", "CockroachDB"},
	{"-YB-", "YugabyteDB"},
}

// Engine returns the name of the engine whose version() is version, and "" for
// PostgreSQL, MySQL, MariaDB and all engines that it does not recognise.
func Engine(version string) string {
	for _, m := range marks {
		if strings.Contains(version, m.text) {
			return m.engine
		}
	}
	return ""
}
