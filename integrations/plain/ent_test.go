package plain_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/gormflake/gormflake/types"
)

// entShop is a [shop] that stores orders with ent's driver and query builder. The code that
// ent generates is based on them.
type entShop struct{ *entsql.Driver }

// openEnt opens a shop with ent. ent's name of the dialect of SQLite differs from GORM's.
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

// TestEntGenerated generates the code of testdata/ent, thousands of lines, in a copy that
// contains only this folder, and runs its test.
func TestEntGenerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ok(t, os.CopyFS(filepath.Join(dir, "ent"), os.DirFS("testdata/ent")))
	root, err := filepath.Abs("../..")
	ok(t, err)
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("..", file))
		ok(t, err)
		content = bytes.ReplaceAll(content, []byte("=> ../"), []byte("=> "+root+"/"))
		ok(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	for _, args := range [][]string{{"tool", "ent", "generate", "./schema"}, {"test", "."}} {
		run := exec.CommandContext(t.Context(), "go", args...)
		run.Dir = filepath.Join(dir, "ent")
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}
