package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// mariadbProofDDL returns the statements that create table orders with rows rows, a view,
// and four tables that refer to it, and the tables of a [proof].
func mariadbProofDDL(rows int) []string {
	from := longSequence(rows)
	ddl := []string{
		"CREATE TABLE users (id int AUTO_INCREMENT PRIMARY KEY, name varchar(40))",
		"CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, tenant int NOT NULL, user_id int NOT NULL, amount int NOT NULL, note varchar(40) NOT NULL, CONSTRAINT fk_user FOREIGN KEY (user_id) REFERENCES users (id), " +
			"CONSTRAINT positive CHECK (tenant >= 0), CONSTRAINT bounded CHECK (CHAR_LENGTH(note) < 40 AND amount >= 0))",
		"CREATE VIEW open_orders AS SELECT id, user_id FROM orders WHERE amount > 0",
		"INSERT INTO users (name) SELECT CONCAT('user ', seq)" + sequence(1000),
		"INSERT INTO orders SELECT seq, seq % 8, 1 + seq % 1000, seq % 1000, CONCAT('order ', seq)" + from,
		"CREATE INDEX ix_amount ON orders (amount, id)",
		"CREATE TABLE ledger (id bigint PRIMARY KEY, tenant int, amount int, gone int)",
		"CREATE TABLE clients (id int PRIMARY KEY, transactions bigint)",
		"INSERT INTO clients SELECT seq - 1, 0" + sequence(8),
	}
	for _, table := range proofChildren {
		ddl = append(ddl, fmt.Sprintf("CREATE TABLE %s (id int AUTO_INCREMENT PRIMARY KEY, order_id int NOT NULL, tenant int NOT NULL, CONSTRAINT fk_%[1]s FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)", table),
			fmt.Sprintf("INSERT INTO %s (order_id, tenant) SELECT id, tenant FROM orders WHERE id %% 10 = 0", table))
	}
	return append(ddl, "ANALYZE TABLE users, orders, notes, tags, payments, visits")
}

// TestProofMariaDB runs a [proof], which kills the process of an online move again and again
// while programs write, and checks that no write is lost. After stage swap there is no Revert on
// MariaDB, so the test reverts a first move before that stage, and kills a second move during
// the stage. With five million rows it takes half an hour on two cores at the polite pace.
func TestProofMariaDB(t *testing.T) {
	eachPace(t, func(t *testing.T, pace sqlmigrate.Pace) {
		runMariaDBProof(t, proofMariaDB(t), pace, &mariadbServer{})
	})
}

// proofMariaDB starts a server that keeps all acknowledged transactions if its process is
// killed. innodb_flush_log_at_trx_commit=2 writes them to the operating system at once.
func proofMariaDB(t *testing.T) *testserver.Server {
	t.Helper()
	longRows(t) // skips the test before a server is started
	return testserver.MariaDB(t, "innodb_log_file_size=4G", "innodb_buffer_pool_size=512M", "innodb_flush_log_at_trx_commit=2", "max_connections=300")
}

// proofMySQL starts a server of MySQL that keeps all acknowledged transactions if its
// process is killed.
func proofMySQL(t *testing.T) *testserver.Server {
	t.Helper()
	longRows(t)
	return testserver.MySQL(t, "log_bin_trust_function_creators=1", "innodb_redo_log_capacity=4G", "innodb_buffer_pool_size=512M", "innodb_flush_log_at_trx_commit=2", "max_connections=300")
}

// TestProofMySQL runs a [proof] on MySQL as TestProofMariaDB does on MariaDB, and with an index
// on an expression, which MariaDB does not have.
func TestProofMySQL(t *testing.T) {
	eachPace(t, func(t *testing.T, pace sqlmigrate.Pace) {
		runMariaDBProof(t, proofMySQL(t), pace, &mariadbServer{mysql: true}, "CREATE INDEX ix_tens ON orders ((amount DIV 10))")
	})
}

// runMariaDBProof runs the proof on a server at a pace. The field mysql of s tells the kind
// of server, and runMariaDBProof sets the other fields. more are further statements for the
// schema.
func runMariaDBProof(t *testing.T, server *testserver.Server, pace sqlmigrate.Pace, s *mariadbServer, more ...string) {
	rows := longRows(t)
	s.address, s.data = server.Address(), server.Data()
	s.admin = mariadbOpen(t, s.dsn("test"))
	d := s.database(t, append(mariadbProofDDL(rows), more...)...)
	p, copying := mariadbProofOf(t, server, d, rows), sqlmigrate.StageCopy
	p.pace, p.children = pace, proofChildren
	p.first = []sqlmigrate.StageName{sqlmigrate.StagePrepare, copying, copying, copying, sqlmigrate.StageConstrain}
	p.until = sqlmigrate.StageConstrain
	p.second = []sqlmigrate.StageName{copying, copying, sqlmigrate.StageConstrain, sqlmigrate.StageSwap, sqlmigrate.StageSwap}
	p.run(t)
}

// mariadbProofOf returns a proof for a database of MariaDB or MySQL. With
// clientFoundRows, an UPDATE that sets a value to itself reports the row, so that it gets
// into the ledger.
func mariadbProofOf(t *testing.T, server *testserver.Server, d *mariadbDatabase, rows int) *proof {
	t.Helper()
	programs, err := mariadbOpen(t, d.dsn+"&clientFoundRows=true").DB()
	if err != nil {
		t.Fatal(err)
	}
	return &proof{
		server: server, rows: rows, url: d.dsn, db: d.DB, pool: programs,
		dialect: dialect{insert: mariadbInserted, upsert: "INSERT INTO ledger (id, %[1]s) VALUES (%[2]d, %[3]d) ON DUPLICATE KEY UPDATE %[1]s = %[3]d"},
		open:    func() *gorm.DB { return mariadbOpen(t, d.dsn) }, targets: mariadbTargets,
		schema: func() string { return d.schema(t) },
		want:   func(query, want string) { t.Helper(); d.want(t, query, want) },
	}
}

// mariadbInserted executes an INSERT and returns the key of the new row.
func mariadbInserted(ctx context.Context, tx *sql.Tx, statement string) (int64, error) {
	result, err := tx.ExecContext(ctx, statement)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
