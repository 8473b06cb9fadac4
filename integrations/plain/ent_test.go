package plain_test

import (
	"context"
	"database/sql"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/gormflake/gormflake/types"
)

// entShop uses ent's driver and builder, on which the code that ent generates is built.
type entShop struct{ *entsql.Driver }

// The names of ent's dialects differ in that of SQLite.
func openEnt(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	dialects := map[string]string{"postgres": "postgres", "mysql": "mysql", "sqlite": "sqlite3"}
	s := entsql.OpenDB(dialects[db.dialect], db.pool)
	return entShop{s}, s.DB()
}

func (s entShop) insert(ctx context.Context, rows []order) error {
	insert := entsql.Dialect(s.Dialect()).Insert("orders").Columns("id", "parent")
	for _, row := range rows {
		insert.Values(row.ID, row.Parent)
	}
	query, args := insert.Query()
	return s.Exec(ctx, query, args, nil)
}

func (s entShop) children(ctx context.Context, parent types.ID) (found []order, err error) {
	query, args := entsql.Dialect(s.Dialect()).Select("id", "parent").From(entsql.Table("orders")).
		Where(entsql.EQ("parent", parent)).OrderBy("id").Query()
	var rows entsql.Rows
	if err := s.Query(ctx, query, args, &rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	err = entsql.ScanSlice(rows, &found)
	return found, err
}
