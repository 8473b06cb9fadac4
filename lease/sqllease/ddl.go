package sqllease

import (
	"fmt"
)

// DDL returns the statement that creates the table, for people who do not let their
// applications create it. The dialect is "sqlite", "mysql" or "postgres". Of opts only
// [WithTable] has an effect. If the table exists, the store needs only the rights to
// SELECT, INSERT and UPDATE its rows.
func DDL(dialect string, opts ...Option) (string, error) {
	d, err := dialectOf(dialect)
	if err != nil {
		return "", err
	}
	cfg, err := configure(opts)
	if err != nil {
		return "", err
	}
	return d.create(d.parseTable(cfg.table)), nil
}

// dialectOf returns the dialect of that name. TiDB has no name here, because a store
// finds out by the version of a MySQL server that it is TiDB.
func dialectOf(name string) (*dialect, error) {
	for _, d := range []*dialect{sqliteDialect, mysqlDialect, postgresDialect} {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("sqllease: dialect %q is not supported: want sqlite, mysql or postgres", name)
}
