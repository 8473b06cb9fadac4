package postgres_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// killedURL is the variable by which TestPostgresKilledChild gets the database.
const killedURL = "SQLMIGRATE_KILLED_URL"

// TestPostgresKilledChild is the program that postgresKilled starts and kills.
func TestPostgresKilledChild(t *testing.T) {
	url := os.Getenv(killedURL)
	if url == "" {
		t.Skip("a helper of TestPostgres/Killed")
	}
	db := migratetest.PgOpen(t, url)
	plan, err := sqlmigrate.Inspect(t.Context(), db, "users", "orders")
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(plan.Apply(t.Context(), db, sqlmigrate.WithLockTimeout(0)))
}

// If a program is killed while its statement waits for a lock, the server must soon end the
// statement, even without a lock timeout. A statement that waits blocks other sessions.
func postgresKilled(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	before := d.Dump(t)
	reader := d.Begin() // the plan has to wait for its lock
	defer reader.Rollback()
	migratetest.Run(t, reader, "LOCK TABLE orders IN ACCESS SHARE MODE")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPostgresKilledChild$", "-test.count=1")
	child.Env = append(os.Environ(), killedURL+"="+d.URL)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for d.Value(t, migratetest.PgWaiting) != "1" {
		time.Sleep(time.Millisecond)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	killed := time.Now()
	for d.Value(t, migratetest.PgWaiting) != "0" {
		if time.Since(killed) > 15*time.Second { // the server looks for its client every second, but may be busy
			t.Fatal("the statement of a program that was killed still waits")
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("its statement ended after %v", time.Since(killed).Round(time.Millisecond))
	migratetest.PgSame(t, "after the kill", d.Dump(t), before)
}
