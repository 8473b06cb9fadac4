package migrationfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/migrationfile"
)

// If a file of a migration cannot be written, no other file is left behind, because a
// tool would run an incomplete migration.
func TestWriteFilesAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []migrationfile.File{{Name: "1_a.sql", Text: "a"}, {Name: "2_b.sql", Text: "b"}, {Name: "3_c.sql", Text: "c"}}
	if err := os.WriteFile(filepath.Join(dir, "3_c.sql"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	err := migrationfile.WriteAll(dir, files)
	if !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v, want that the file exists", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "3_c.sql" {
		t.Errorf("dir has %v, %v, want 3_c.sql alone", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "3_c.sql")); err != nil || len(text) > 0 {
		t.Errorf("the file that was there has now %q, %v", text, err)
	}
}
