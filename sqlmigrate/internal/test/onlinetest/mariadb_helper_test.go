package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mariadbServer is a server of MariaDB or MySQL that several tests share. Each test
// creates its own database with the method database.
type mariadbServer struct {
	admin   *gorm.DB
	address string
	data    string // the data directory of the server
	mysql   bool   // whether the server is MySQL
	count   atomic.Int64
}

// startMariaDB starts a server of MariaDB.
func startMariaDB(t *testing.T, settings ...string) *mariadbServer {
	t.Helper()
	return startMariaDBOrMySQL(t, testserver.MariaDB, settings...)
}

// startMariaDBOrMySQL starts a server of MariaDB or MySQL with start. The server does not
// wait for the disk at each commit, because the tests kill only its clients.
func startMariaDBOrMySQL(t *testing.T, start func(testing.TB, ...string) *testserver.Server, settings ...string) *mariadbServer {
	t.Helper()
	server := start(t, append(settings, "innodb_flush_log_at_trx_commit=0", "max_connections=300")...)
	s := &mariadbServer{address: server.Address(), data: server.Data()}
	s.admin = mariadbOpen(t, s.dsn("test"))
	return s
}

// dsn returns the data source of a database. With interpolateParams the driver
// does not prepare the statements that have parameters.
func (s *mariadbServer) dsn(database string) string {
	return fmt.Sprintf("root@tcp(%s)/%s?interpolateParams=true&parseTime=true", s.address, database)
}

// mariadbDialector returns a dialector without the log of the driver, in which lost
// connections appear.
func mariadbDialector(dsn string) (gorm.Dialector, error) {
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.Logger = &driver.NopLogger{}
	return mysql.New(mysql.Config{DSNConfig: config}), nil
}

// mariadbOpen opens a database and closes it at the end of the test.
func mariadbOpen(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	dialector, err := mariadbDialector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return testdb.OpenWith(t, dialector)
}

// mariadbDatabase is the database of a single test.
type mariadbDatabase struct {
	*gorm.DB
	dsn string
}

// database creates a database and executes the statements in it.
func (s *mariadbServer) database(t *testing.T, statements ...string) *mariadbDatabase {
	t.Helper()
	name := fmt.Sprintf("db%d", s.count.Add(1))
	if err := s.admin.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4").Error; err != nil {
		t.Fatal(err)
	}
	d := &mariadbDatabase{DB: mariadbOpen(t, s.dsn(name)), dsn: s.dsn(name)}
	d.exec(t, statements...)
	return d
}

// pool returns the connection pool of the database.
func (d *mariadbDatabase) pool(t *testing.T) *sql.DB {
	t.Helper()
	pool, err := d.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// exec executes the statements and stops the test at the first error.
func (d *mariadbDatabase) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := d.pool(t).Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// value returns the single value of a query as text, and "" for NULL.
func (d *mariadbDatabase) value(t *testing.T, query string) string {
	t.Helper()
	var value sql.NullString
	if err := d.pool(t).QueryRow(query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value.String
}

// want fails the test unless the query returns the value want.
func (d *mariadbDatabase) want(t *testing.T, query, want string) {
	t.Helper()
	if got := d.value(t, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

// values returns the rows of a query of one column.
func (d *mariadbDatabase) values(t *testing.T, query string) []string {
	t.Helper()
	var values []string
	if err := d.Raw(query).Scan(&values).Error; err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}

// mariadbCounter matches the table option that contains the next key. It changes as soon
// as a table is copied, so tests of the counter insert a row and look at its key instead.
var mariadbCounter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// schema returns the CREATE statements of all tables, views and triggers.
func (d *mariadbDatabase) schema(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, name := range d.values(t, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1") {
		columns := 2
		if name == "open_orders" { // SHOW CREATE TABLE returns more columns for a view
			columns = 4
		}
		out.WriteString(mariadbCounter.ReplaceAllString(d.second(t, "SHOW CREATE TABLE "+name, columns), "") + "\n")
	}
	for _, name := range d.values(t, "SELECT CONCAT(TRIGGER_NAME, ' ', ACTION_STATEMENT) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1") {
		out.WriteString("trigger " + name + "\n")
	}
	return out.String()
}

// second returns the second column of the first row of a query, in which SHOW CREATE TABLE
// returns the definition. The parameter columns is the number of columns of the result.
func (d *mariadbDatabase) second(t *testing.T, query string, columns int) string {
	t.Helper()
	values, into := make([]sql.NullString, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	if err := d.pool(t).QueryRow(query).Scan(into...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values[1].String
}

// data returns all rows of the tables of [mariadbShop] as text.
func (d *mariadbDatabase) data(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, name := range mariadbTables {
		var rows []map[string]any
		if err := d.Raw("SELECT * FROM " + name + " ORDER BY 1, 2").Scan(&rows).Error; err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			fmt.Fprintln(&out, name, row)
		}
	}
	return out.String()
}

// online makes the online plan with a new pool, like a program that has just started.
func (d *mariadbDatabase) online(t *testing.T) *sqlmigrate.OnlinePlan {
	t.Helper()
	return d.onlineOf(t, mariadbTargets...)
}

// onlineOf makes the online plan for other targets than the tables of [mariadbShop].
func (d *mariadbDatabase) onlineOf(t *testing.T, targets ...any) *sqlmigrate.OnlinePlan {
	t.Helper()
	online, err := tryOnline(context.Background(), mariadbOpen(t, d.dsn), targets...)
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Online(t, d.DB, online)
	return online
}

// The tables of [mariadbShop], and the targets of its move. Table order_lines is not a
// target, because the move finds it by its reference to orders.
var (
	mariadbTables  = []string{"users", "orders", "notes", "order_lines"}
	mariadbTargets = []any{"users", "orders", "notes"}
)

// sequence returns a FROM clause with the numbers from 1 to rows, which must be a
// thousand at most.
func sequence(rows int) string {
	return fmt.Sprintf(" FROM (WITH RECURSIVE s (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM s WHERE seq < %d) SELECT seq FROM s) AS numbers", rows)
}

// mariadbShop returns the statements that create a parent with two children, one of which
// has a child itself, and the table mirror with the rows that orders must contain.
func mariadbShop(rows int) []string {
	from := sequence(rows)
	return []string{
		"CREATE TABLE users (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s', email varchar(60) NOT NULL, code binary(2), UNIQUE KEY ux (email))",
		"CREATE TABLE orders (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int unsigned NOT NULL, note varchar(40) CHARACTER SET latin1 DEFAULT 'x', note_id int, at timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()," +
			" twice int AS (CHAR_LENGTH(note) * 2) STORED, CONSTRAINT fk_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE, CONSTRAINT positive CHECK (CHAR_LENGTH(note) < 40))",
		"CREATE TABLE notes (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int unsigned, CONSTRAINT fk_note FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL) COMMENT 'no PARTITION BY'",
		"CREATE TABLE order_lines (order_id int NOT NULL, number int NOT NULL, PRIMARY KEY (order_id, number), CONSTRAINT fk_line FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)",
		"CREATE VIEW open_orders AS SELECT id, user_id FROM orders",
		"INSERT INTO users (id, email, code) SELECT seq, CONCAT('user', seq), CHAR(seq % 256, 255)" + from,
		"INSERT INTO orders (id, user_id, note) SELECT seq * 2, seq, CONCAT('order ', seq)" + from,
		"INSERT INTO notes (id, user_id) SELECT seq, NULLIF(seq, 7)" + from,
		"INSERT INTO order_lines SELECT seq * 2, seq % 5" + from,
		"CREATE TABLE mirror (id bigint PRIMARY KEY, user_id bigint NOT NULL, KEY (user_id)) SELECT id, user_id FROM orders",
		// The counter is far above the rows, so that a move that computes it from the
		// rows is noticed.
		fmt.Sprintf("INSERT INTO users VALUES (%d, 'last', NULL)", rows+4000), "DELETE FROM users WHERE email = 'last'",
	}
}

// expectedError matches errors that a program also gets without a move. The key exists
// already (1062), another row refers to it (1451), or there was a deadlock and the server
// asks the program to repeat its transaction (1213).
var expectedError = regexp.MustCompile(`Error (1062|1213|1451)\b`)

// unreadable matches the error of MariaDB for triggers that it cannot read after a
// session was killed.
var unreadable = regexp.MustCompile(`Error 1064\b.*has an error in its body`)

// mariadbWriter returns writer number n, a program that runs mariadbWrite in a transaction.
// If mariadbWrite fails with an error that expectedError or one of tolerated matches, the
// transaction is rolled back, and the program continues.
func mariadbWriter(n, rows int, tolerated ...*regexp.Regexp) *program {
	do := func(ctx context.Context, conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
		err = mariadbWrite(ctx, tx, rows)
		for _, e := range append(tolerated, expectedError) {
			if err != nil && e.MatchString(err.Error()) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	}
	return &program{name: fmt.Sprintf("writer %d", n), do: do, pause: time.Millisecond}
}

// mariadbWrite makes a random one of six changes in the tables. If the change affects
// orders, it makes the same change in table mirror, so that mariadbCheckRows can compare
// them. rows is the number that mariadbShop received.
func mariadbWrite(ctx context.Context, tx *sql.Tx, rows int) error {
	user, order := 1+rand.IntN(rows), 2*(1+rand.IntN(rows))
	// Without a lock on the user another transaction could delete the user before the
	// order is inserted.
	var there int
	err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT id FROM users WHERE id = %d LOCK IN SHARE MODE) u", user)).Scan(&there)
	if err != nil || there == 0 {
		return err
	}
	// Only a user with a number that is a multiple of ten can be deleted, so that most
	// orders stay.
	statements := [][]string{
		{fmt.Sprintf("UPDATE orders SET user_id = %d WHERE id = %d", user, order), fmt.Sprintf("UPDATE mirror SET user_id = %d WHERE id = %d", user, order)},
		{fmt.Sprintf("DELETE FROM orders WHERE id = %d", order), fmt.Sprintf("DELETE FROM mirror WHERE id = %d", order)},
		{fmt.Sprintf("INSERT INTO orders (user_id, note) VALUES (%d, 'new')", user), fmt.Sprintf("INSERT INTO mirror VALUES (LAST_INSERT_ID(), %d)", user)},
		{fmt.Sprintf("UPDATE notes SET user_id = NULLIF(%d, %d) WHERE id = %d", user, order, order/2), fmt.Sprintf("UPDATE users SET email = CONCAT(email, '.') WHERE id = %d AND CHAR_LENGTH(email) < 50", user)},
		{fmt.Sprintf("UPDATE orders SET id = id + 1 WHERE id = %d", order), fmt.Sprintf("UPDATE mirror SET id = id + 1 WHERE id = %d", order)},
		{fmt.Sprintf("DELETE FROM users WHERE id = %d AND id %% 10 = 0", user), fmt.Sprintf("DELETE FROM mirror WHERE user_id = %d AND user_id %% 10 = 0", user)},
	}[rand.IntN(6)]
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// mariadbReader returns a program that reads the orders of a user through a view.
func mariadbReader(rows int) *program {
	return &program{name: "reader", pause: time.Millisecond, do: func(ctx context.Context, conn *sql.Conn) error {
		var n int
		return conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM users u JOIN open_orders o ON o.user_id = u.id WHERE u.id = %d", 1+rand.IntN(rows))).Scan(&n)
	}}
}

// mariadbLoad starts two writers and a reader. tolerated matches further errors that the
// writers may get.
func mariadbLoad(t *testing.T, d *mariadbDatabase, tolerated ...*regexp.Regexp) *load {
	t.Helper()
	return startLoad(t, mariadbOpen(t, d.dsn), mariadbWriter(1, customers, tolerated...), mariadbWriter(2, customers, tolerated...), mariadbReader(customers))
}

// mariadbCheckRows compares the rows with table mirror, and looks for rows without a
// parent.
func mariadbCheckRows(t *testing.T, d *mariadbDatabase) {
	t.Helper()
	for _, query := range []string{
		"SELECT COUNT(*) FROM orders o LEFT JOIN mirror m ON m.id = o.id AND m.user_id = o.user_id WHERE m.id IS NULL",
		"SELECT COUNT(*) FROM mirror m LEFT JOIN orders o ON o.id = m.id WHERE o.id IS NULL",
		"SELECT COUNT(*) FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE u.id IS NULL",
		"SELECT COUNT(*) FROM order_lines l LEFT JOIN orders o ON o.id = l.order_id WHERE o.id IS NULL",
		"SELECT COUNT(*) FROM notes n LEFT JOIN users u ON u.id = n.user_id WHERE u.id IS NULL AND n.user_id IS NOT NULL",
	} {
		d.want(t, query, "0")
	}
}
