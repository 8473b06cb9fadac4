package sqlmigrate_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Products that only speak the protocol of MySQL or PostgreSQL are rejected by name. The
// test only changes the version that a real server reports.
func TestServerIsAnotherEngine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target        testdb.Target
		version, want string
	}{
		{testdb.MySQL, "8.0.11-TiDB-v7.5.0", "the server is TiDB (8.0.11-TiDB-v7.5.0): want MySQL or MariaDB"},
		{testdb.Postgres, "CockroachDB CCL v22.2.2", "the server is CockroachDB (CockroachDB CCL v22.2.2): want PostgreSQL"},
		{testdb.Postgres, "PostgreSQL 11.2-YB-2.5.1.0-b0", "the server is YugabyteDB (PostgreSQL 11.2-YB-2.5.1.0-b0): want PostgreSQL"},
	} {
		t.Run(test.version, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, test.target)
			migratetest.Run(t, db, "CREATE TABLE orders (id int PRIMARY KEY)")
			_, err := sqlmigrate.Inspect(t.Context(), openWithVersion(t, db, test.version), "orders")
			migratetest.WantError(t, err, test.want)
		})
	}
}

// openWithVersion opens the database of db through a driver in which the server reports this
// version.
func openWithVersion(t *testing.T, db *gorm.DB, version string) *gorm.DB {
	t.Helper()
	var dialector gorm.Dialector
	var pool *sql.DB
	switch d := db.Dialector.(type) {
	case *mysql.Dialector:
		connector, err := mysqldriver.NewConnector(d.DSNConfig)
		if err != nil {
			t.Fatal(err)
		}
		pool = sql.OpenDB(versionConnector{Connector: connector, version: version})
		dialector = mysql.New(mysql.Config{Conn: pool})
	case *postgres.Dialector:
		config, err := pgx.ParseConfig(testdb.PostgresURL(t, db))
		if err != nil {
			t.Fatal(err)
		}
		pool = sql.OpenDB(versionConnector{Connector: stdlib.GetConnector(*config), version: version})
		dialector = postgres.New(postgres.Config{Conn: pool})
	}
	t.Cleanup(func() { pool.Close() })
	opened, err := gorm.Open(dialector)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// A versionConnector opens connections on which the server reports version.
type versionConnector struct {
	driver.Connector
	version string
}

func (c versionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return versionConn{Conn: conn, version: c.version}, err
}

// A versionConn replaces version() in each statement by the version. It implements only
// the required methods of a connection, so that every statement passes through Prepare.
type versionConn struct {
	driver.Conn
	version string
}

// Prepare replaces the function version() in a statement by a text.
func (c versionConn) Prepare(statement string) (driver.Stmt, error) {
	return c.Conn.Prepare(strings.Replace(statement, "version()", "'"+c.version+"'", 1))
}

// BeginTx passes the options on. Without this method, database/sql would reject a
// transaction with an isolation level.
func (c versionConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}
