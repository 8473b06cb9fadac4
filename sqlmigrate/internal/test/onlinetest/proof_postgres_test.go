package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgProof creates a table with eight partitions, two CHECK constraints, a partial index,
// an expression index and a view, and four tables that refer to it. One of these four is
// partitioned.
const pgProof = `
CREATE TABLE users (id serial PRIMARY KEY, name text);
CREATE TABLE orders (id serial, tenant integer NOT NULL, user_id integer NOT NULL REFERENCES users, amount integer NOT NULL, note text NOT NULL,
  PRIMARY KEY (id, tenant), CONSTRAINT positive CHECK (id > 0), CONSTRAINT bounded CHECK (user_id > 0 AND amount >= 0)) PARTITION BY LIST (tenant);
DO $$ BEGIN FOR n IN 0..7 LOOP EXECUTE format('CREATE TABLE orders_%%1$s PARTITION OF orders FOR VALUES IN (%%1$s)', n); END LOOP; END $$;
CREATE VIEW open_orders AS SELECT id, user_id, amount FROM orders WHERE amount > 0;
CREATE TABLE notes (id serial PRIMARY KEY, order_id integer NOT NULL, tenant integer NOT NULL);
CREATE TABLE tags (id serial PRIMARY KEY, order_id integer NOT NULL, tenant integer NOT NULL);
CREATE TABLE payments (id serial PRIMARY KEY, order_id integer NOT NULL, tenant integer NOT NULL);
CREATE TABLE visits (order_id integer NOT NULL, tenant integer NOT NULL, day date NOT NULL DEFAULT '2026-01-02') PARTITION BY RANGE (day);
CREATE TABLE visits_2025 PARTITION OF visits FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE visits_2026 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO users (name) SELECT 'user ' || n FROM generate_series(1, 1000) AS n;
INSERT INTO orders (tenant, user_id, amount, note) SELECT n %% 8, 1 + n %% 1000, n %% 1000, 'order ' || n FROM generate_series(1, %[1]d) AS n;
INSERT INTO notes (order_id, tenant) SELECT n, n %% 8 FROM generate_series(10, %[1]d, 10) AS n;
INSERT INTO tags (order_id, tenant) SELECT order_id, tenant FROM notes;
INSERT INTO payments (order_id, tenant) SELECT order_id, tenant FROM notes;
INSERT INTO visits SELECT order_id, tenant, '2025-12-01'::date + id %% 60 FROM notes;
CREATE INDEX ON orders (user_id, id) WHERE amount > 990;
CREATE INDEX ON orders ((id / 10));
DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY '{notes,tags,payments,visits}'::text[] LOOP
  EXECUTE format('CREATE INDEX ON %%I (order_id, tenant)', t);
  EXECUTE format('ALTER TABLE %%I ADD FOREIGN KEY (order_id, tenant) REFERENCES orders ON UPDATE CASCADE ON DELETE CASCADE', t);
END LOOP; END $$;` + pgLedger

// pgLedger creates the tables of a [proof].
const pgLedger = `
CREATE TABLE ledger (id bigint PRIMARY KEY, tenant integer, amount integer, gone integer);
CREATE TABLE clients (id integer PRIMARY KEY, transactions bigint);
INSERT INTO clients SELECT n, 0 FROM generate_series(0, 7) AS n;`

// TestProofPostgres runs a [proof], in which programs write while the move runs, and no write
// may be lost. It kills the move in every stage from prepare to swap, and takes it back after
// stage swap. With five million rows it takes a quarter of an hour on two cores at the
// polite pace.
func TestProofPostgres(t *testing.T) { eachPace(t, runPgProof) }

// runPgProof runs the proof at a pace.
func runPgProof(t *testing.T, pace sqlmigrate.Pace) {
	rows := longRows(t)
	server := proofPostgres(t)
	d := pgServerOf(t, server).database(t, fmt.Sprintf(pgProof, rows))
	d.Script(t, "VACUUM ANALYZE")
	p, copying := pgProofOf(t, server, d, rows), sqlmigrate.StageCopy
	p.pace, p.children = pace, proofChildren
	p.first = []sqlmigrate.StageName{
		sqlmigrate.StagePrepare, copying, copying, copying, copying, copying,
		sqlmigrate.StageIndex, sqlmigrate.StageConstrain, sqlmigrate.StageSwap, sqlmigrate.StageSwap,
	}
	p.until = sqlmigrate.StageSwap
	p.run(t)
}

// proofPostgres starts a server with enough memory for the large tables.
func proofPostgres(t *testing.T) *testserver.Server {
	t.Helper()
	return testserver.Postgres(t, "wal_level=logical", "shared_buffers=512MB", "max_wal_size=8GB")
}

// pgProofOf returns a proof for a database of PostgreSQL.
func pgProofOf(t *testing.T, server *testserver.Server, d *pgDatabase, rows int) *proof {
	t.Helper()
	programs, err := migratetest.PgOpen(t, d.URL+"&default_query_exec_mode=exec").DB()
	if err != nil {
		t.Fatal(err)
	}
	return &proof{
		server: server, rows: rows, url: d.URL + partedChild, db: d.DB, pool: programs,
		dialect: dialect{insert: pgInserted, upsert: "INSERT INTO ledger (id, %[1]s) VALUES (%[2]d, %[3]d) ON CONFLICT (id) DO UPDATE SET %[1]s = %[3]d"},
		open:    func() *gorm.DB { return migratetest.PgOpen(t, d.URL) }, targets: pgPartedTargets,
		schema: func() string { return d.Dumped(t, "--schema-only") },
		want:   func(query, want string) { t.Helper(); d.want(t, query, want) },
	}
}

// pgInserted executes an INSERT and returns the key of the new row.
func pgInserted(ctx context.Context, tx *sql.Tx, statement string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, statement+" RETURNING id").Scan(&id)
	return id, err
}
