package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/types"
)

// mysqlScripts returns the migration files of a plan, where up and down are in the order in
// which a tool runs them. Each file is a list of the texts that the tool sends to the
// server one by one.
func mysqlScripts(t *testing.T, plan *sqlmigrate.Plan, format sqlmigrate.Format) (up, down [][]string) {
	t.Helper()
	dir := t.TempDir()
	if err := plan.WriteFiles(dir, format); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // Glob returns the names in lexical order
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(name, ".up.sql"):
			up = append(up, []string{string(text)})
		case strings.HasSuffix(name, ".down.sql"):
			down = append([][]string{{string(text)}}, down...)
		default:
			first, second, _ := strings.Cut(string(text), "-- +goose Down\n")
			up = append(up, mysqlGooseStatements(t, first))
			down = append([][]string{mysqlGooseStatements(t, second)}, down...)
		}
	}
	return up, down
}

// mysqlGooseStatements returns the statements of a file for goose. Each must be between
// the markers, because goose would otherwise split it at semicolons.
func mysqlGooseStatements(t *testing.T, text string) []string {
	t.Helper()
	var statements []string
	for i, block := range strings.Split(text, "-- +goose StatementBegin\n") {
		statement, rest, ok := strings.Cut(block, ";\n-- +goose StatementEnd\n")
		if ok != (i > 0) || i > 0 && strings.TrimSpace(rest) != "" {
			t.Fatalf("outside of a statement: %q", block)
		}
		if ok {
			statements = append(statements, statement)
		}
	}
	return statements
}

// mysqlTool executes each script on a new connection, as migration tools do. A script of
// one text is sent as a whole. It checks that each script restores the settings of the
// session.
func mysqlTool(t *testing.T, db *gorm.DB, scripts [][]string) error {
	t.Helper()
	for _, script := range scripts {
		tool := migratetest.MySQLWith(t, db, func(c *driver.Config) { c.MultiStatements = len(script) == 1 })
		pool := migratetest.MySQLPool(t, tool)
		pool.SetMaxOpenConns(1)
		for _, statement := range script {
			if _, err := pool.ExecContext(t.Context(), statement); err != nil {
				return fmt.Errorf("%w in %s", err, statement)
			}
		}
		const restored = "SELECT @@SESSION.sql_mode = @@GLOBAL.sql_mode AND @@SESSION.foreign_key_checks" +
			" /*!80000 AND @@SESSION.information_schema_stats_expiry = @@GLOBAL.information_schema_stats_expiry */"
		if got := migratetest.MySQLRow(t, tool, restored)[0]; got != "1" {
			t.Error("a script leaves settings behind")
		}
		pool.Close()
	}
	return nil
}

// The files for migration tools move the tables as Apply does. Each file can be run twice,
// and the way back refuses while there are Snowflake IDs.
func TestMySQLScripts(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, format := range []sqlmigrate.Format{sqlmigrate.GolangMigrate, sqlmigrate.Goose} {
			t.Run(string(format), func(t *testing.T) {
				t.Parallel()
				before, schema, data := mysqlMoved(t, on)
				db := migratetest.MySQLSmall(t, on)
				up, down := mysqlScripts(t, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...), format)
				for range 2 { // every script can be run again
					if err := mysqlTool(t, db, up); err != nil {
						t.Fatal(err)
					}
					migratetest.MySQLSame(t, "schema after up", migratetest.MySQLSchema(t, db), schema)
					migratetest.MySQLSame(t, "data after up", mysqlData(t, db), data)
				}
				migratetest.MySQLExec(t, db, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", mysqlID))
				// The first file takes phase guard back, for which large keys do not matter.
				err := mysqlTool(t, db, down[1:])
				if err == nil || !strings.Contains(err.Error(), "refused: orders.id has Snowflake IDs") {
					t.Errorf("down with a large key: %v, want an error that says so", err)
				}
				migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id > 99")
				migratetest.MySQLSame(t, "schema after a refused down", migratetest.MySQLSchema(t, db), schema)
				for range 2 {
					if err := mysqlTool(t, db, down); err != nil {
						t.Fatal(err)
					}
					migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), before)
					migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
				}
			})
		}
	})
}

// If a script has failed because of an orphan, it can be run again after the orphan is
// deleted.
func TestMySQLScriptsAfterOrphan(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, format := range []sqlmigrate.Format{sqlmigrate.GolangMigrate, sqlmigrate.Goose} {
			t.Run(string(format), func(t *testing.T) {
				t.Parallel()
				_, schema, data := mysqlMoved(t, on)
				db := migratetest.MySQLSmall(t, on)
				up, _ := mysqlScripts(t, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...), format)
				orphan := migratetest.MySQLWith(t, db, func(c *driver.Config) { c.Params = map[string]string{"foreign_key_checks": "0"} })
				migratetest.MySQLExec(t, orphan, "INSERT INTO orders (id, a_id) VALUES (77, 99)")
				if err := mysqlTool(t, db, up); err == nil || !strings.Contains(err.Error(), "table orders has rows whose") {
					t.Fatalf("up with an orphan: %v, want an error that says so", err)
				}
				migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id = 77")
				if err := mysqlTool(t, db, up); err != nil {
					t.Fatal(err)
				}
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
			})
		}
	})
}

// If a tool is killed after any statement, the script can be run again from its
// beginning, also if the library has completed the move in between.
func TestMySQLScriptsResume(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, data := mysqlMoved(t, on)
		up, down := mysqlScripts(t, migratetest.MySQLInspect(t, migratetest.MySQLSmall(t, on), migratetest.MySQLSmallTargets()...), sqlmigrate.Goose)
		// There is a file for each of the phases widen, detach and guard. The tool is killed
		// in phase widen, which comes last on the way back.
		widen, narrow := up[0], down[2]
		for n := 0; n < len(widen); n += mysqlStep(on, 1) {
			t.Run(fmt.Sprintf("up %d", n), func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				mysqlPart(t, db, widen[:n])
				if n%3 == 0 { // in a third of the cases, the library completes the move
					mysqlApply(t, db, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...))
				}
				if err := mysqlTool(t, db, up); err != nil {
					t.Fatal(err)
				}
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
			})
		}
		for n := 0; n < len(narrow); n += mysqlStep(on, 1) {
			t.Run(fmt.Sprintf("down %d", n), func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				// Apply all phases, and take back guard and detach.
				if err := mysqlTool(t, db, append(append([][]string{}, up...), down[:2]...)); err != nil {
					t.Fatal(err)
				}
				mysqlPart(t, db, narrow[:n])
				if err := mysqlTool(t, db, down[2:]); err != nil {
					t.Fatal(err)
				}
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
			})
		}
	})
}

// mysqlPart executes statements on a new connection and closes the connection.
func mysqlPart(t *testing.T, db *gorm.DB, statements []string) {
	t.Helper()
	tool := migratetest.MySQLWith(t, db, func(*driver.Config) {})
	migratetest.MySQLPool(t, tool).SetMaxOpenConns(1)
	migratetest.MySQLExec(t, tool, statements...)
	migratetest.MySQLPool(t, tool).Close()
}

// The test cancels Apply while the server copies table orders. The server can continue this
// statement after Apply has returned. The next Apply must wait for the end of the statement,
// and then complete the move without losing a row.
func TestMySQLResumesBehindLostStatement(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, _ := mysqlMoved(t, on)
		db := migratetest.MySQLSmall(t, on)
		for range 15 { // doubles the rows, so that the copy of the table takes long enough to be canceled
			migratetest.MySQLExec(t, db, "INSERT INTO orders (a_id) SELECT 1 FROM orders")
		}
		rows := migratetest.MySQLRow(t, db, "SELECT COUNT(*) FROM orders")
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := plan.Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if strings.Contains(p.SQL, "ALTER TABLE `orders` MODIFY") {
				go mysqlCancelWhenRunning(ctx, migratetest.MySQLPool(t, db), cancel)
			}
		}))
		t.Logf("the run that lost its client: %v", err)
		mysqlApply(t, db, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...))
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
		if got := migratetest.MySQLRow(t, db, "SELECT COUNT(*) FROM orders"); got[0] != rows[0] {
			t.Errorf("orders has %s rows, want %s", got[0], rows[0])
		}
		mysqlRevert(t, db, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), before)
	})
}

// After the move, GORM's AutoMigrate finds that the tables agree with models that have
// keys of type types.ID, and changes nothing.
func TestMySQLAutoMigrateHasNothingToDo(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on)
		if err := db.AutoMigrate(&mysqlOldUser{}, &mysqlOldOrder{}); err != nil {
			t.Fatal(err)
		}
		mysqlApply(t, db, migratetest.MySQLInspect(t, db, "users", "orders"))
		schema := migratetest.MySQLSchema(t, db)
		if err := db.AutoMigrate(&mysqlNewUser{}, &mysqlNewOrder{}); err != nil {
			t.Fatal(err)
		}
		migratetest.MySQLSame(t, "schema after AutoMigrate", migratetest.MySQLSchema(t, db), schema)
	})
}

// These models describe the same tables before and after the move.
type (
	mysqlOldUser struct {
		ID     uint32
		Orders []mysqlOldOrder `gorm:"foreignKey:UserID"`
	}
	mysqlOldOrder struct {
		ID     int32
		UserID uint32
	}
	mysqlNewUser struct {
		ID     types.ID        `gorm:"primaryKey;autoIncrement:false;not null;check:id > 0" snowflake:"pk"`
		Orders []mysqlNewOrder `gorm:"foreignKey:UserID"`
	}
	mysqlNewOrder struct {
		ID     types.ID `gorm:"primaryKey;autoIncrement:false;not null;check:id > 0" snowflake:"pk"`
		UserID types.ID
	}
)

func (mysqlOldUser) TableName() string  { return "users" }
func (mysqlOldOrder) TableName() string { return "orders" }
func (mysqlNewUser) TableName() string  { return "users" }
func (mysqlNewOrder) TableName() string { return "orders" }

// mysqlCancelWhenRunning calls cancel as soon as the server copies table orders.
func mysqlCancelWhenRunning(ctx context.Context, pool *sql.DB, cancel context.CancelFunc) {
	defer cancel()
	const copying = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND info LIKE 'ALTER TABLE `orders` MODIFY%' AND state LIKE '%copy%'"
	for running := 0; running == 0; {
		if pool.QueryRowContext(ctx, copying).Scan(&running) != nil {
			return
		}
	}
}

// The SQL mode of the tools would turn a key of 0 into 1, so the scripts have to set
// their own mode.
func TestMySQLScriptsKeepKeyZero(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"INSERT INTO users VALUES (4), (5)", "UPDATE users SET id = 0 WHERE id = 4")
		data := mysqlData(t, db)
		up, down := mysqlScripts(t, migratetest.MySQLInspect(t, db, "users"), sqlmigrate.Goose)
		if err := mysqlTool(t, db, append(up, down...)); err != nil {
			t.Fatal(err)
		}
		migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
	})
}
