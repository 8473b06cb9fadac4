package migratetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// PgFiles executes the migration files of a plan up and down, as golang-migrate and goose
// do. It fails the test if the database differs from its former state afterwards.
func (d *PgDatabase) PgFiles(t *testing.T, plan *sqlmigrate.Plan) {
	t.Helper()
	before := d.State(t)
	for _, format := range []sqlmigrate.Format{sqlmigrate.GolangMigrate, sqlmigrate.Goose} {
		up, down := FilesOf(t, plan, format)
		for _, text := range up {
			pgScript(t, d, text, format)
		}
		for _, text := range slices.Backward(down) {
			pgScript(t, d, text, format)
		}
		PgSame(t, "after down with "+string(format), d.State(t), before)
	}
}

// FilesOf writes the migration files of a plan and returns their texts in the order of
// their versions.
func FilesOf(t *testing.T, plan *sqlmigrate.Plan, format sqlmigrate.Format) (up, down []string) {
	t.Helper()
	dir := t.TempDir()
	if err := plan.WriteFiles(dir, format); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // Glob returns the names in lexical order, which is the order of their versions
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// A file of goose has both directions, separated by this comment.
		first, second, both := strings.Cut(string(text), "-- +goose Down")
		switch {
		case both:
			up, down = append(up, first), append(down, second)
		case strings.HasSuffix(name, ".down.sql"):
			down = append(down, first)
		default:
			up = append(up, first)
		}
	}
	return up, down
}

// pgScript executes a half of a migration file. golang-migrate sends all its statements
// in one call. goose sends the statements one by one, in a transaction, and needs a
// comment at the beginning and end of each.
func pgScript(t *testing.T, d *PgDatabase, text string, format sqlmigrate.Format) {
	t.Helper()
	if format == sqlmigrate.GolangMigrate {
		d.Script(t, text)
		return
	}
	tx := d.Begin()
	defer tx.Rollback()
	for _, part := range strings.Split(text, "-- +goose StatementBegin\n")[1:] {
		statement, rest, ok := strings.Cut(part, "\n-- +goose StatementEnd\n")
		if !ok || strings.TrimSpace(rest) != "" {
			t.Fatalf("not one statement: %q", part)
		}
		if err := tx.Exec(strings.TrimSuffix(statement, ";")).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := tx.Commit().Error; err != nil {
		t.Fatal(err)
	}
}
