package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// adminTimeout limits each statement that creates or drops a database. A drop otherwise
// waits forever for a transaction that a test left open.
const adminTimeout = 30 * time.Second

// mysqlDatabase creates a database on a server of MariaDB or MySQL.
func mysqlDatabase(t testing.TB, s service) gorm.Dialector {
	t.Helper()
	server, ok := parse(t, s.url(t)).(*mysql.Dialector)
	if !ok {
		t.Fatalf("testdb: %s: want a URL like %s", s.variable, s.example)
	}
	name := freshName()
	create(t, s, "mysql", server.DSN,
		"CREATE DATABASE "+name+" CHARACTER SET utf8mb4",
		"DROP DATABASE "+name)
	config := server.DSNConfig.Clone()
	config.DBName = name
	return mysql.New(mysql.Config{DSNConfig: config})
}

// postgresSchema creates a schema, in which connections of the dialector find and create
// their tables.
func postgresSchema(t testing.TB) gorm.Dialector {
	t.Helper()
	server, ok := parse(t, postgresService.url(t)).(*postgres.Dialector)
	if !ok {
		t.Fatalf("testdb: %s: want a URL like %s", postgresService.variable, postgresService.example)
	}
	name := freshName()
	create(t, postgresService, "pgx", server.DSN,
		"CREATE SCHEMA "+name,
		"DROP SCHEMA "+name+" CASCADE")
	separator := "?"
	if strings.Contains(server.DSN, "?") {
		separator = "&"
	}
	return postgres.Open(server.DSN + separator + "search_path=" + name)
}

// freshName returns a lower-case identifier that needs no quotes on any server.
func freshName() string {
	return "gormflake_" + strings.ToLower(rand.Text())
}

// create creates a database by createSQL. When t ends it drops the database by dropSQL.
// Cleanups run in reverse order, so the database is dropped after t's own connections are
// closed.
func create(t testing.TB, s service, driver, dsn, createSQL, dropSQL string) {
	t.Helper()
	admin, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.variable, err)
	}
	t.Cleanup(func() { admin.Close() })
	err = s.check(admin)
	if err == nil {
		err = exec(admin, createSQL)
	}
	if err != nil {
		t.Fatalf("testdb: %s is set, but the server cannot be used: %v", s.variable, err)
	}
	t.Cleanup(func() {
		if err := exec(admin, dropSQL); err != nil {
			t.Errorf("testdb: %s: %v (has the test left a transaction open?)", dropSQL, err)
		}
	})
}

// exec runs a statement, for at most adminTimeout. It uses no context of a test, because
// that has ended during the cleanup.
func exec(db *sql.DB, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	_, err := db.ExecContext(ctx, statement)
	return err
}
