package clitest

import (
	"crypto/rand"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
)

// The exit codes.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Findings    = 3
	Interrupted = 130
)

// Password is the password of accounts that [Account] creates.
const Password = "hunter2"

// Account creates an account that has no right on any table. It returns the URL dsn with this
// account, and the account's name for GRANT.
func Account(t *testing.T, db *gorm.DB, dsn string) (accountURL, grantee string) {
	t.Helper()
	name := "gf_" + strings.ToLower(rand.Text()[:12])
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, Password)
	if db.Name() == "mysql" {
		grantee = name + "@'%'"
		Execute(t, db, "CREATE USER "+grantee+" IDENTIFIED BY '"+Password+"'")
		t.Cleanup(func() { Execute(t, db, "DROP USER "+grantee) })
		return u.String(), grantee
	}
	var schema string
	db.Raw("SELECT current_schema()").Scan(&schema)
	Execute(t, db, "CREATE ROLE "+name+" LOGIN PASSWORD '"+Password+"'", "GRANT USAGE ON SCHEMA "+schema+" TO "+name)
	t.Cleanup(func() { // a role can drop the objects of another role only as a member of it
		Execute(t, db, "GRANT "+name+" TO CURRENT_USER", "DROP OWNED BY "+name, "DROP ROLE "+name)
	})
	return u.String(), name
}

// Patience is how long tests wait for events that may be late on a loaded machine.
const Patience = time.Minute

// Build builds the program and returns its path.
func Build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gormflake")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/gormflake/gormflake/cmd/gormflake").CombinedOutput()
	if err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

// autoNext matches the next value of a counter, which changes with rows and not with the
// schema.
var autoNext = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// Schema returns the definitions of the tables of [Shop], as the database reports them, so
// that a test can check whether a command has changed them.
func Schema(t *testing.T, url string) string {
	t.Helper()
	db := Open(t, url)
	var parts []string
	switch db.Name() {
	case "sqlite":
		db.Raw("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name").Scan(&parts)
	case "mysql":
		for _, table := range []string{"audit", "orders", "order_lines"} {
			var name, text string
			if err := db.Raw("SHOW CREATE TABLE "+table).Row().Scan(&name, &text); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, autoNext.ReplaceAllString(text, ""))
		}
	default:
		db.Raw(`SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || coalesce(column_default, '')
			FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1`).Scan(&parts)
		var constraints []string
		db.Raw(`SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace ORDER BY 1`).Scan(&constraints)
		parts = append(parts, constraints...)
	}
	if len(parts) < 3 { // Shop has three tables
		t.Fatalf("the schema is not read: %q", parts)
	}
	return strings.Join(parts, "\n")
}

// Touch creates the file of an SQLite database. A server needs no file.
func Touch(t *testing.T, url string) {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// WantTimeText is part of the error for an invalid time.
const WantTimeText = "want a time such as"
