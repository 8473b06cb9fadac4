package sqlmigrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
)

const mysqlOnlineRows = 1000

// mysqlOnlineShop has a parent, two children, one of them with a child, and what
// orders should hold.
func mysqlOnlineShop(t *testing.T, rows int) *gorm.DB {
	t.Helper()
	numbers := fmt.Sprintf("SELECT seq AS n FROM seq_1_to_%d", rows)
	db := mysqlOpenOrSkip(t, "CREATE TABLE numbers AS "+numbers)
	mysqlExec(t, db,
		"CREATE TABLE users (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s', email varchar(60) NOT NULL, code binary(2), UNIQUE KEY ux (email))",
		"CREATE TABLE orders (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int unsigned NOT NULL, note varchar(40) CHARACTER SET latin1 DEFAULT 'x', at timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),"+
			" twice int AS (CHAR_LENGTH(note) * 2) STORED, CONSTRAINT fk_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE, CONSTRAINT positive CHECK (CHAR_LENGTH(note) < 40))",
		"CREATE TABLE notes (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int unsigned, CONSTRAINT fk_note FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL)",
		"CREATE TABLE lines_ (order_id int NOT NULL, number int NOT NULL, PRIMARY KEY (order_id, number), CONSTRAINT fk_line FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)",
		"CREATE VIEW open_orders AS SELECT id, user_id FROM orders",
		"INSERT INTO users (id, email, code) SELECT n, CONCAT('user', n), CHAR(n % 256, 255) FROM numbers",
		"INSERT INTO orders (id, user_id, note) SELECT n * 2, n, CONCAT('order ', n) FROM numbers",
		"INSERT INTO notes (id, user_id) SELECT n, NULLIF(n, 7) FROM numbers",
		"INSERT INTO lines_ SELECT n * 2, n % 5 FROM numbers",
		"CREATE TABLE mirror AS SELECT id, CAST(user_id AS SIGNED) AS user_id FROM orders",
		"ALTER TABLE mirror ADD PRIMARY KEY (id), ADD KEY (user_id)",
		fmt.Sprintf("INSERT INTO users VALUES (%d, 'last', NULL)", rows+4000), "DELETE FROM users WHERE email = 'last'",
	)
	return db
}

func mysqlOnline(t *testing.T, db *gorm.DB) *sqlmigrate.OnlinePlan {
	t.Helper()
	plan, err := mysqlInspect(t, db, "users", "orders", "notes").Online(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// mysqlLoad is programs that write and read until the function that it returns is called.
func mysqlLoad(t *testing.T, db *gorm.DB, rows int) (end func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	worst, times := make([]time.Duration, 3), make([]int, 3)
	for i, do := range []func(context.Context, *sql.DB, int) error{mysqlShopWrite, mysqlShopWrite, mysqlShopRead} {
		running.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				err := do(context.WithoutCancel(ctx), mysqlPool(t, db), rows)
				worst[i], times[i] = max(worst[i], time.Since(begun)), times[i]+1
				if err != nil && !strings.Contains(err.Error(), "1213") { // a deadlock is to be repeated
					t.Errorf("a program: %v", err)
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	return func() time.Duration {
		cancel()
		running.Wait()
		t.Logf("programs came %d times, and waited for %v at most", times, worst)
		return slices.Max(worst)
	}
}

func mysqlShopWrite(ctx context.Context, pool *sql.DB, rows int) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	user, order := 1+rand.IntN(rows), 2*(1+rand.IntN(rows))
	// A user that another transaction has deleted gets no orders.
	var there int
	err = tx.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT id FROM users WHERE id = %d LOCK IN SHARE MODE) u", user)).Scan(&there)
	if err != nil || there == 0 {
		return err
	}
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
			if strings.Contains(err.Error(), "1062") || strings.Contains(err.Error(), "1451") { // the key is taken
				return nil
			}
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return tx.Commit()
}

func mysqlShopRead(ctx context.Context, pool *sql.DB, rows int) error {
	var n int
	return pool.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM users u JOIN open_orders o ON o.user_id = u.id WHERE u.id = %d", 1+rand.IntN(rows))).Scan(&n)
}

// mysqlCheckShop compares with what the writers remember.
func mysqlCheckShop(t *testing.T, db *gorm.DB) {
	t.Helper()
	for what, query := range map[string]string{
		"orders that differ":   "SELECT COUNT(*) FROM orders o LEFT JOIN mirror m ON m.id = o.id AND m.user_id = o.user_id WHERE m.id IS NULL",
		"orders that are lost": "SELECT COUNT(*) FROM mirror m LEFT JOIN orders o ON o.id = m.id WHERE o.id IS NULL",
		"orphans of users":     "SELECT COUNT(*) FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE u.id IS NULL",
		"orphans of orders":    "SELECT COUNT(*) FROM lines_ l LEFT JOIN orders o ON o.id = l.order_id WHERE o.id IS NULL",
		"notes of nobody":      "SELECT COUNT(*) FROM notes n LEFT JOIN users u ON u.id = n.user_id WHERE u.id IS NULL AND n.user_id IS NOT NULL",
	} {
		if got := mysqlRow(t, db, query)[0]; got != "0" {
			t.Errorf("%s %s, want 0", got, what)
		}
	}
}

// mysqlCheckOnlineEnd wants the schema that phase widen makes, and keys above 2^53.
func mysqlCheckOnlineEnd(t *testing.T, db *gorm.DB) {
	t.Helper()
	other := mysqlOnlineShop(t, mysqlOnlineRows)
	mysqlApply(t, other, mysqlInspect(t, other, "users", "orders", "notes"), sqlmigrate.WithPhases(sqlmigrate.Widen))
	mysqlSame(t, "schema", mysqlSchema(t, db), mysqlSchema(t, other))
	const wide = int64(1) << 54 // not ahead of the clock
	mysqlExec(t, db,
		fmt.Sprintf("INSERT INTO users VALUES (%d, 'wide', NULL)", wide), fmt.Sprintf("INSERT INTO orders (id, user_id) VALUES (%d, %d)", wide+1, wide),
		fmt.Sprintf("INSERT INTO lines_ VALUES (%d, 1)", wide+1), fmt.Sprintf("INSERT INTO notes VALUES (%d, %d)", wide+2, wide))
}

func TestMySQLOnline(t *testing.T) {
	t.Parallel()
	db := mysqlOnlineShop(t, mysqlOnlineRows)
	end := mysqlLoad(t, db, mysqlOnlineRows)
	plan := mysqlOnline(t, db)
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	err := plan.Apply(t.Context(), db)
	end()
	if err != nil {
		t.Fatal(err)
	}
	mysqlCheckShop(t, db)
	wantError(t, mysqlOnline(t, db).Revert(t.Context(), db), "there is a way back only until the tables are renamed")
	end = mysqlLoad(t, db, mysqlOnlineRows)
	err = mysqlOnline(t, db).Finish(t.Context(), db)
	end()
	if err != nil {
		t.Fatal(err)
	}
	mysqlCheckShop(t, db)
	mysqlExec(t, db, "INSERT INTO users (email) VALUES ('next')")
	if got := mysqlRow(t, db, "SELECT id FROM users WHERE email = 'next'")[0]; got != "5001" {
		t.Errorf("the next key is %s, want 5001: the counter has fallen", got)
	}
	mysqlCheckOnlineEnd(t, db)
	if !mysqlOnline(t, db).Empty() {
		t.Error("a second plan is not empty")
	}
}

// A move that is ended at random points, under load, is resumed to its end.
func TestMySQLOnlineKilled(t *testing.T) {
	t.Parallel()
	const kills = 10
	db := mysqlOnlineShop(t, mysqlOnlineRows)
	own := mysqlWith(t, db, nopLogger)
	end := mysqlLoad(t, db, mysqlOnlineRows)
	killed := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		steps, last := 0, 1+rand.IntN(4)
		err := mysqlOnline(t, db).Apply(ctx, own, sqlmigrate.WithBatchRows(50, 200), sqlmigrate.WithOnlineProgress(func(sqlmigrate.OnlineProgress) {
			if steps++; killed < kills && steps == last {
				time.AfterFunc(rand.N(20*time.Millisecond), func() { mysqlEndRun(t, db, rand.IntN(2) == 0, cancel) })
			}
		}))
		cancel()
		if err == nil {
			break
		}
		killed++
		t.Logf("killed: %.200s", err)
	}
	end()
	mysqlCheckShop(t, db)
	if killed < kills/2 {
		t.Errorf("killed %d times, want more", killed)
	}
	if err := mysqlOnline(t, db).Finish(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	mysqlCheckShop(t, db)
	mysqlCheckOnlineEnd(t, db)
}

// mysqlEndRun ends the connection of the run, or its context. It spares CREATE
// TRIGGER, after which MariaDB may keep triggers as unreadable until the move is
// resumed or taken back.
func mysqlEndRun(t *testing.T, db *gorm.DB, connection bool, cancel context.CancelFunc) {
	ids := mysqlStrings(t, db, "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = IS_USED_LOCK(CONCAT('sqlmigrate ', LEFT(SHA2(DATABASE(), 256), 40))) AND COALESCE(INFO, '') NOT REGEXP '^(CREATE|DROP) TRIGGER'")
	if !connection || len(ids) == 0 {
		cancel()
		return
	}
	_ = mysqlTry(t, db, "KILL "+ids[0])
}

// The way back from each stage leaves what was there before.
func TestMySQLOnlineRevert(t *testing.T) {
	t.Parallel()
	for _, last := range []sqlmigrate.StageName{sqlmigrate.StagePrepare, sqlmigrate.StageCopy, sqlmigrate.StageConstrain} {
		t.Run(string(last), func(t *testing.T) {
			t.Parallel()
			db := mysqlOnlineShop(t, mysqlOnlineRows)
			schema, data := mysqlSchema(t, db), mysqlData(t, db)
			if err := mysqlOnline(t, db).Apply(t.Context(), db, sqlmigrate.WithLastStage(last)); err != nil {
				t.Fatal(err)
			}
			if err := mysqlOnline(t, db).Revert(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			mysqlSame(t, "schema", mysqlSchema(t, db), schema)
			mysqlSame(t, "data", mysqlData(t, db), data)
		})
	}
}

func TestMySQLOnlineRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, change, object string }{
		{"trigger", "CREATE TRIGGER own BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = 'y'", "trigger own"},
		{"self-reference", "ALTER TABLE users ADD boss_id int unsigned, ADD CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id)", "foreign key fk_boss"},
		{"composite", "ALTER TABLE users ADD UNIQUE KEY two (id, email), ADD KEY (email); CREATE TABLE more (u int unsigned, e varchar(60), CONSTRAINT fk_two FOREIGN KEY (u, e) REFERENCES users (id, email))", "foreign key fk_two"},
		{"not in the set", "ALTER TABLE users ADD KEY (code); CREATE TABLE more (c binary(2), CONSTRAINT fk_code FOREIGN KEY (c) REFERENCES users (code))", "table more"},
		{"name", "CREATE TABLE _users_sfnew (id int)", "table _users_sfnew"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := mysqlOnlineShop(t, mysqlOnlineRows)
			mysqlExec(t, db, strings.Split(test.change, "; ")...)
			schema := mysqlSchema(t, db)
			plan := mysqlOnline(t, db)
			if !slices.ContainsFunc(plan.Blockers, func(b sqlmigrate.Blocker) bool { return b.Object == test.object }) {
				t.Errorf("blockers %+v, want %s", plan.Blockers, test.object)
			}
			wantError(t, plan.Apply(t.Context(), db), test.object)
			mysqlSame(t, "schema", mysqlSchema(t, db), schema)
		})
	}
}

// What was changed during the move is not lost by the swap.
func TestMySQLOnlineChanged(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"ALTER TABLE orders ADD extra int", "ALTER TABLE users ADD KEY extra (code)", "CREATE TRIGGER own BEFORE INSERT ON notes FOR EACH ROW SET NEW.id = NEW.id"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			db := mysqlOnlineShop(t, mysqlOnlineRows)
			if err := mysqlOnline(t, db).Apply(t.Context(), db, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
				t.Fatal(err)
			}
			mysqlExec(t, db, change)
			wantError(t, mysqlOnline(t, db).Apply(t.Context(), db), "has been changed since the plan")
			if err := mysqlOnline(t, db).Revert(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The swap waits for a long transaction, but nobody waits for it for long.
func TestMySQLOnlineBehindReader(t *testing.T) {
	t.Parallel()
	db := mysqlOnlineShop(t, mysqlOnlineRows)
	if err := mysqlOnline(t, db).Apply(t.Context(), db, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	reader := db.Begin()
	run(t, reader, "SELECT * FROM orders LIMIT 1")
	time.AfterFunc(2*time.Second, func() { reader.Rollback() })
	end := mysqlLoad(t, db, mysqlOnlineRows)
	waited := ""
	err := mysqlOnline(t, db).Apply(t.Context(), db, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) { waited += p.Waiting }))
	end()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(waited, "a lock, after") {
		t.Errorf("it waited for %q, want a lock", waited)
	}
	mysqlCheckShop(t, db)
}

// TestMySQLOnlineLong takes minutes for a million rows in each of four tables. What
// programs wait for is compared with a time without the move.
func TestMySQLOnlineLong(t *testing.T) {
	text := os.Getenv("GORMFLAKE_TEST_ROWS")
	if text == "" {
		t.Skip("GORMFLAKE_TEST_ROWS is not set: the number of rows of each table, as 1000000")
	}
	rows, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	db := mysqlOnlineShop(t, rows)
	end := mysqlLoad(t, db, rows)
	time.Sleep(10*time.Second + time.Duration(rows)*20*time.Microsecond)
	without := end()
	plan := mysqlOnline(t, db)
	took, disk, log := plan.Estimate()
	t.Logf("estimate %v, disk %d MB, log %d MB", took.Round(time.Second), disk/1e6, log/1e6)
	end = mysqlLoad(t, db, rows)
	begun, stage := time.Now(), sqlmigrate.StageName("")
	err = plan.Apply(t.Context(), db, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if p.Stage != stage {
			stage = p.Stage
			t.Logf("stage %s after %v", stage, time.Since(begun).Round(time.Millisecond))
		}
	}))
	took = time.Since(begun)
	worst := end()
	t.Logf("Apply took %v", took.Round(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if worst > without+250*time.Millisecond {
		t.Errorf("a program waited for %v, and for %v without the move: want 250ms more at most", worst, without)
	}
	mysqlCheckShop(t, db)
	if err := mysqlOnline(t, db).Finish(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	mysqlCheckShop(t, db)
}
