package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlAtWork is a query for the IDs of the other connections of the database that wait for a
// table. It leaves out other waits, because they end soon, for example the wait of MySQL for
// a commit.
const mysqlAtWork = "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND = 'Query' AND STATE LIKE 'Waiting for table%' AND ID <> CONNECTION_ID()"

// mysqlWaits opens a transaction that reads table users, calls apply, and calls end with the
// ID of the waiting connection as soon as apply waits for the table. It returns the IDs of
// the connections that still wait after apply has returned, and the error of apply.
func mysqlWaits(t *testing.T, db *gorm.DB, end func(waiting string), apply func() error) ([]string, error) {
	t.Helper()
	reader := db.Begin()
	defer reader.Rollback()
	migratetest.Run(t, reader, "SELECT * FROM users")
	done := make(chan error)
	go func() { done <- apply() }()
	var waiting []string
	for len(waiting) == 0 {
		time.Sleep(time.Millisecond)
		waiting = migratetest.MySQLStrings(t, db, mysqlAtWork)
	}
	end(waiting[0])
	err := <-done
	return migratetest.MySQLStrings(t, db, mysqlAtWork), err
}

// When Apply returns after its context was canceled, no connection of Apply waits for a
// lock, because a connection that waits would block later statements. With a pool of one
// connection, Apply must close this connection before it can get another one for the KILL.
func TestMySQLCancelled(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, test := range []struct {
			name  string
			conns int // the largest size of the pool; 0 means no limit
		}{{"context", 0}, {"context of the only connection", 1}} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				schema := migratetest.MySQLSchema(t, db)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				separate := migratetest.MySQLWith(t, db, func(*driver.Config) {})
				migratetest.MySQLPool(t, separate).SetMaxOpenConns(test.conns)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				waiting, err := mysqlWaits(t, db, func(string) { cancel() }, func() error { return plan.Apply(ctx, separate) })
				if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "KILL") {
					t.Errorf("error %v, want its context's alone", err)
				}
				if len(waiting) > 0 {
					t.Errorf("connections %s wait after Apply has returned, want none", waiting)
				}
				mysqlApply(t, separate, plan)
				mysqlRevert(t, separate, plan)
				migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
			})
		}
	})
}

// If a program passes a single connection and no pool, Apply cannot end a statement that
// waits for a lock. The error of Apply says so, and contains the KILL by which an operator
// can end the statement.
func TestMySQLCancelledOnOneConnection(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		conn, err := migratetest.MySQLPool(t, db).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		one, err := gorm.Open(mysql.New(mysql.Config{Conn: conn}), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var id string
		waiting, err := mysqlWaits(t, db, func(waiting string) { id = waiting; cancel() }, func() error { return plan.Apply(ctx, one) })
		migratetest.WantError(t, err, "the statement may still be running and blocking others", fmt.Sprintf("stop it with: KILL %s (", id), "there is no other to stop it from")
		for _, id := range waiting {
			if err := migratetest.MySQLTry(t, db, "KILL "+id); err != nil && !strings.Contains(err.Error(), "Error 1094") { // error 1094 means that it has ended already, because its wait is limited
				t.Error(err)
			}
		}
	})
}
