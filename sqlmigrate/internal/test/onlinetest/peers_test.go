package onlinetest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// pgPeers creates a table without foreign keys to it, because pgroll supports only such
// tables.
const pgPeers = `
CREATE TABLE orders (id serial PRIMARY KEY, tenant integer NOT NULL, user_id integer NOT NULL, amount integer NOT NULL, note text NOT NULL, CONSTRAINT positive CHECK (id > 0), CONSTRAINT bounded CHECK (user_id > 0 AND amount >= 0));
INSERT INTO orders (tenant, user_id, amount, note) SELECT n %% 8, 1 + n %% 1000, n %% 1000, 'order ' || n FROM generate_series(1, %[1]d) AS n;
CREATE INDEX ON orders (user_id);` + pgLedger

// TestPeersPostgres compares the move with pgroll: how long each takes, and how long the
// programs have to wait. It moves a table of GORMFLAKE_TEST_ROWS rows at each pace, and
// then an equal table with pgroll, if pgroll is in the PATH.
func TestPeersPostgres(t *testing.T) {
	rows := longRows(t)
	server := proofPostgres(t)
	databases := pgServerOf(t, server)
	// peer creates the table in a new database, and a proof whose writers use it.
	peer := func(t *testing.T) (*proof, *pgDatabase) {
		d := databases.database(t, fmt.Sprintf(pgPeers, rows))
		d.Script(t, "VACUUM ANALYZE")
		return pgProofOf(t, server, d, rows), d
	}
	t.Run("gormflake", func(t *testing.T) {
		eachPace(t, func(t *testing.T, pace sqlmigrate.Pace) {
			p, _ := peer(t)
			p.targets, p.pace = []any{"orders"}, pace
			p.measure(t, func() { p.moveOnline(t) })
		})
	})
	t.Run("pgroll", func(t *testing.T) {
		pgroll := inPath(t, "pgroll")
		p, d := peer(t)
		p.tool = regexp.MustCompile(`_pgroll_|record "new" has no field`) // errors by the triggers of pgroll while it completes
		folder := t.TempDir()
		start := func(version, operation string, more ...string) { // pgroll creates a schema in which programs find the tables
			file := filepath.Join(folder, version+".json")
			if err := os.WriteFile(file, []byte(`{"operations": [`+operation+`]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			runTool(t, pgroll, append([]string{"--postgres-url", d.URL, "start", file}, more...)...)
			p.path.Store("public_" + version)
		}
		runTool(t, pgroll, "--postgres-url", d.URL, "init")
		runTool(t, pgroll, "--postgres-url", d.URL, "baseline", "00_first", t.TempDir(), "--yes")
		start("01_views", `{"sql": {"up": "SELECT 1"}}`, "--complete")
		p.measure(t, func() {
			start("02_wide", `{"alter_column": {"table": "orders", "column": "id", "type": "bigint", "up": "id", "down": "id::integer"}}`)
			time.Sleep(time.Second) // so that all programs begin a transaction in the new schema
			runTool(t, pgroll, "--postgres-url", d.URL, "complete")
		})
		t.Log("the type is", d.Value(t, "SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname = 'id'"))
	})
}

// TestPeersMariaDB compares the move with pt-online-schema-change, if that is in the
// PATH: how long each takes, and how long the programs have to wait.
func TestPeersMariaDB(t *testing.T) {
	runMariaDBPeers(t, proofMariaDB(t))
}

// TestPeersMySQL compares the move with pt-online-schema-change on MySQL, if that is in
// the PATH: how long each takes, and how long the programs have to wait.
func TestPeersMySQL(t *testing.T) {
	runMariaDBPeers(t, proofMySQL(t))
}

// runMariaDBPeers moves a table on a server of MariaDB or MySQL at each pace, and then an
// equal table with pt-online-schema-change.
func runMariaDBPeers(t *testing.T, server *testserver.Server) {
	rows := longRows(t)
	s := &mariadbServer{address: server.Address()}
	s.admin = mariadbOpen(t, s.dsn("test"))
	// peer creates the table in a new database, and a proof whose writers use it.
	peer := func(t *testing.T) (*proof, *mariadbDatabase) {
		d := s.database(
			t,
			"CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, tenant int NOT NULL, user_id int NOT NULL, amount int NOT NULL, note varchar(40) NOT NULL, CONSTRAINT positive CHECK (tenant >= 0), CONSTRAINT bounded CHECK (amount >= 0))",
			"INSERT INTO orders SELECT seq, seq % 8, 1 + seq % 1000, seq % 1000, CONCAT('order ', seq)"+longSequence(rows),
			"CREATE INDEX ix_user ON orders (user_id)",
			"CREATE TABLE ledger (id bigint PRIMARY KEY, tenant int, amount int, gone int)",
			"CREATE TABLE clients (id int PRIMARY KEY, transactions bigint)",
			"INSERT INTO clients SELECT seq - 1, 0"+sequence(8),
			"ANALYZE TABLE orders",
		)
		return mariadbProofOf(t, server, d, rows), d
	}
	t.Run("gormflake", func(t *testing.T) {
		eachPace(t, func(t *testing.T, pace sqlmigrate.Pace) {
			p, _ := peer(t)
			p.targets, p.pace = []any{"orders"}, pace
			p.measure(t, func() { p.moveOnline(t) })
		})
	})
	t.Run("pt-online-schema-change", func(t *testing.T) {
		change := inPath(t, "pt-online-schema-change")
		p, d := peer(t)
		host, port, err := net.SplitHostPort(server.Address())
		if err != nil {
			t.Fatal(err)
		}
		p.measure(t, func() {
			runTool(t, change, "--alter", "MODIFY id bigint NOT NULL AUTO_INCREMENT", "--execute", "--recursion-method=none",
				fmt.Sprintf("h=%s,P=%s,u=root,D=%s,t=orders", host, port, d.value(t, "SELECT DATABASE()")))
		})
		t.Log("the type is", d.value(t, "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders' AND COLUMN_NAME = 'id'"))
	})
}

// measure runs the writers before, during and after a move, and logs their longest
// transactions. The process that moves is not killed.
func (p *proof) measure(t *testing.T, move func()) {
	t.Helper()
	p.start(t)
	// Without the move, the writers run for about as long as with it, so that their
	// longest transactions can be compared.
	idle := time.Duration(p.rows) * 12 * time.Microsecond
	time.Sleep(idle)
	begun := time.Now()
	p.stage.Store("move")
	move()
	t.Logf("took %v", time.Since(begun).Round(time.Second))
	p.check(t)
	p.end(t, idle)
	for _, w := range p.writers {
		if w.refused > 0 {
			t.Logf("writer %d: %d transactions were refused, the last by: %v", w.number, w.refused, w.refusal)
		}
	}
	p.longest(t)
}

// moveOnline runs a whole online move with this library, and logs how long its stages took.
func (p *proof) moveOnline(t *testing.T) {
	t.Helper()
	var stages []sqlmigrate.StageName
	begun := map[sqlmigrate.StageName]time.Duration{} // since the start of Apply
	p.online(t, "Apply", func(o *sqlmigrate.OnlinePlan) error {
		return o.Apply(context.Background(), p.db, sqlmigrate.WithPace(p.pace), sqlmigrate.WithOnlineProgress(func(now sqlmigrate.OnlineProgress) {
			if _, known := begun[now.Stage]; !known {
				stages, begun[now.Stage] = append(stages, now.Stage), now.Elapsed
			}
		}))
	})
	for i, stage := range stages[:len(stages)-1] {
		t.Logf("stage %s took %v", stage, (begun[stages[i+1]] - begun[stage]).Round(100*time.Millisecond))
	}
	p.online(t, "Finish", func(o *sqlmigrate.OnlinePlan) error { return o.Finish(context.Background(), p.db) })
}

// inPath returns the path of another tool. It skips the test if the tool is not
// installed.
func inPath(t *testing.T, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// runTool runs a program and stops the test if it fails.
func runTool(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}
