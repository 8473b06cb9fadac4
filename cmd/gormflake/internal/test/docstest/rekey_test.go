//go:build unix

package docstest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestRekey runs the procedure of docs/runbooks.md that gives new keys to rows whose IDs
// were issued under a wrong clock, here in 2040. Rows that refer to them must get the new
// keys too, and other rows must stay as they are.
func TestRekey(t *testing.T) {
	t.Parallel()
	testserver.Program(t, "psql")
	url := testdb.URL(t, testdb.Postgres)
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(dialector)
	if err != nil {
		t.Fatal(err)
	}
	if pool, err := db.DB(); err == nil {
		t.Cleanup(func() { _ = pool.Close() })
	}
	layout := snowflake.TwitterLayout()
	old, future := layout.Min(time.Now().Add(-time.Hour)), layout.Min(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, statement := range []string{
		"CREATE TABLE orders (id bigint PRIMARY KEY)",
		"CREATE TABLE lines (id bigint PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders)",
	} {
		execute(t, db, statement)
	}
	for i, id := range []types.ID{old, future, future + 1} {
		execute(t, db, "INSERT INTO orders VALUES (?)", id)
		execute(t, db, "INSERT INTO lines VALUES (?, ?)", i, id)
	}
	execute(t, db, "INSERT INTO lines VALUES (3, ?)", future)
	page := read(t, filepath.Join(root, "docs", "runbooks.md"))
	script := page.of("bash")[0].text
	run := exec.CommandContext(t.Context(), "sh", "-ec", script)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "GORMFLAKE_DSN="+strings.Replace(url, "search_path=", "options=-csearch_path%3D", 1),
		"PATH="+filepath.Dir(build(t))+":"+os.Getenv("PATH"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var keys []types.ID
	if err := db.Table("lines").Order("id").Pluck("order_id", &keys).Error; err != nil {
		t.Fatal(err)
	}
	// keys[i] is the key to which line i refers. Lines 1 and 3 referred to the same wrong key.
	now := layout.Max(time.Now().Add(time.Minute))
	if keys[0] != old || keys[1] >= keys[2] || keys[2] > now || keys[3] != keys[1] || keys[1] <= old {
		t.Errorf("lines refer to %v, want %v, and two new keys up to %v in the order of the old ones", keys, old, now)
	}
}

// execute runs a statement that must succeed.
func execute(t *testing.T, db *gorm.DB, statement string, args ...any) {
	t.Helper()
	if err := db.Exec(statement, args...).Error; err != nil {
		t.Fatal(err)
	}
}
