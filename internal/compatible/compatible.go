// Package compatible distinguishes PostgreSQL, MySQL and MariaDB from other engines that
// use their protocols, such as TiDB. Settings of a server, such as the durability of commits,
// may exist there by the same name and have no effect.
package compatible

import "strings"

// marks are the texts by which the result of the SQL function version() names an engine, as
// in 8.0.11-TiDB-v7.5.0. [Engine] does not recognise engines whose version() has no mark,
// such as Aurora DSQL.
var marks = []struct{ text, engine string }{
	{"TiDB", "TiDB"},
	{"CockroachDB", "CockroachDB"},
	{"-YB-", "YugabyteDB"},
}

// Engine returns the name of the engine, such as TiDB, from the result of its SQL function
// version(). It returns "" for PostgreSQL, MySQL, MariaDB and all engines that it does not
// recognise.
func Engine(version string) string {
	for _, m := range marks {
		if strings.Contains(version, m.text) {
			return m.engine
		}
	}
	return ""
}
