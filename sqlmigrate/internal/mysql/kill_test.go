package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
)

// kills is how often each subtest kills a session, at a random moment. It is so large that
// several of the kills end a session while the session opens a table.
const kills = 60

// If a session of MariaDB is killed while it opens a table, the triggers of the table
// cannot be read any more, and every insert fails. After EndSession, which ends a session
// as a run does, an insert must succeed. The test also runs with an account that may not
// flush tables, for which CloseTables uses another statement.
func TestKilledWhileItOpensTriggers(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.MariaDB)
	for _, s := range []string{
		"CREATE TABLE notes (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, n int)",
		"CREATE TRIGGER adds BEFORE INSERT ON notes FOR EACH ROW SET NEW.n = 1",
		"CREATE TRIGGER changes BEFORE UPDATE ON notes FOR EACH ROW SET NEW.n = 2",
		"CREATE TRIGGER removes BEFORE DELETE ON notes FOR EACH ROW SET @n = 3",
	} {
		if err := db.Exec(s).Error; err != nil {
			t.Fatal(err)
		}
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("may flush", func(t *testing.T) { killAll(t, pool) })
	t.Run("may not flush", func(t *testing.T) { killAll(t, unprivileged(t, db)) })
}

// killAll kills sessions, and checks after each kill that a row can be inserted.
func killAll(t *testing.T, pool *sql.DB) {
	t.Helper()
	for range kills {
		killOpening(t, pool)
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO notes () VALUES ()"); err != nil {
			t.Fatalf("after a kill: %v", err)
		}
	}
}

// unprivileged opens the database as an account that has all rights for this database,
// but none for the server.
func unprivileged(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	config := db.Dialector.(*gormmysql.Dialector).DSNConfig.Clone()
	config.User, config.Passwd = "g"+strings.ToLower(rand.Text()), rand.Text()
	for _, s := range []string{
		"CREATE USER " + config.User + " IDENTIFIED BY '" + config.Passwd + "'",
		"GRANT ALL ON " + config.DBName + ".* TO " + config.User,
	} {
		if err := db.Exec(s).Error; err != nil {
			t.Fatal(err)
		}
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	t.Cleanup(func() {
		pool.Close()
		if err := db.Exec("DROP USER " + config.User).Error; err != nil {
			t.Error(err)
		}
	})
	return pool
}

// killOpening starts a session that opens the table again and again, cancels the
// statement after a random time, and ends the session.
func killOpening(t *testing.T, pool *sql.DB) {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session, err := mysql.OpenSession(t.Context(), conn, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), mathrand.N(3*time.Millisecond))
	defer cancel()
	// ENABLE KEYS closes the table, so that the SELECT opens it again.
	_, err = conn.ExecContext(ctx, "BEGIN NOT ATOMIC WHILE TRUE DO ALTER TABLE notes ENABLE KEYS; SELECT COUNT(*) INTO @n FROM notes WHERE id = 1; END WHILE; END")
	if err == nil {
		t.Fatal("the loop has ended")
	}
	if err := mysql.EndSession(t.Context(), conn, pool, session); errors.Is(err, context.DeadlineExceeded) {
		t.Skipf("the server is too slow: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
}
