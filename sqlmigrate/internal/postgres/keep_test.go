package postgres_test

import (
	"context"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// PostgreSQL loses each of these properties when it creates the object again, so the move
// has to set them again.
var pgKept = []struct{ name, ddl string }{
	{"target of an expression next to the column", "CREATE INDEX i ON t (id, lower(s)); ALTER INDEX i ALTER COLUMN 2 SET STATISTICS 321"},
	{"targets of expressions", "CREATE INDEX i ON t ((id % 10), lower(s)); ALTER INDEX i ALTER COLUMN 1 SET STATISTICS 0; ALTER INDEX i ALTER COLUMN 2 SET STATISTICS 9"},
	{"target of statistics", "CREATE STATISTICS st ON id, n FROM t; ALTER STATISTICS st SET STATISTICS 77"},
	{"statistics of an expression", "CREATE STATISTICS st (mcv) ON (id % 10), lower(s), n FROM t; ALTER STATISTICS st SET STATISTICS 0; COMMENT ON STATISTICS st IS 'it''s'"},
	{"owner of statistics", "CREATE STATISTICS st ON (id % 10), n FROM t; ALTER STATISTICS st OWNER TO keeping; CREATE STATISTICS plain ON id, n FROM t; ALTER STATISTICS plain OWNER TO keeping"},
	{"owner of statistics and of their table", "CREATE STATISTICS st ON (id % 10), n FROM t; CREATE STATISTICS own ON (id % 10), s FROM t; ALTER TABLE t OWNER TO keeping; ALTER STATISTICS st OWNER TO keeping"},
	{"comment on the index of an exclusion", "ALTER TABLE t ADD CONSTRAINT x EXCLUDE USING btree ((id % 100) WITH =); COMMENT ON INDEX x IS 'index'; COMMENT ON CONSTRAINT x ON t IS 'constraint'"},
	{"comments on a key and its index", "COMMENT ON INDEX t_pkey IS 'index'; COMMENT ON CONSTRAINT t_pkey ON t IS 'constraint'"},
	{"tablespace of an exclusion", "ALTER TABLE t ADD CONSTRAINT x EXCLUDE USING btree (id WITH =) USING INDEX TABLESPACE space"},
	{"tablespace of an exclusion of an expression", "ALTER TABLE t ADD CONSTRAINT x EXCLUDE USING btree ((id % 100) WITH =) WITH (fillfactor = 50) USING INDEX TABLESPACE space"},
	{"tablespaces of indexes", "CREATE INDEX i ON t ((id % 10)) TABLESPACE space; CREATE INDEX j ON t (id) TABLESPACE space; CREATE INDEX k ON t (id) WHERE (id % 2 = 0)"},
	{"extension of an index", "CREATE INDEX i ON t ((id % 10)); ALTER INDEX i DEPENDS ON EXTENSION plpgsql; CREATE INDEX j ON t (id); ALTER INDEX j DEPENDS ON EXTENSION plpgsql"},
	{"order of the table", "CREATE INDEX i ON t ((id % 10)); ALTER TABLE t CLUSTER ON i; CREATE UNIQUE INDEX j ON t (id); ALTER TABLE t REPLICA IDENTITY USING INDEX j"},
	{"CHECK of a child's own that its parent has too", "CREATE TABLE k (CHECK (id % 2 < 2)) INHERITS (t); CREATE TABLE kk (CHECK (id % 2 < 2)) INHERITS (k); ALTER TABLE kk ADD CONSTRAINT c CHECK (id % 3 < 3); ALTER TABLE k ADD CONSTRAINT c CHECK (id % 3 < 3); ALTER TABLE t ADD CONSTRAINT c CHECK (id % 3 < 3); COMMENT ON CONSTRAINT c ON k IS 'k'"},
	{"comment on a child's CHECK", "ALTER TABLE t ADD CONSTRAINT c CHECK (id <> 5), ADD CONSTRAINT d CHECK (id % 3 < 3); CREATE TABLE k () INHERITS (t); COMMENT ON CONSTRAINT c ON k IS 'c'; COMMENT ON CONSTRAINT d ON k IS 'd'"},
	{"names of partitions' keys", pgParted + "CREATE UNIQUE INDEX own ON p1 (at, id); COMMENT ON INDEX own IS 'own'; CREATE UNIQUE INDEX whole ON ONLY p (at, id); ALTER INDEX whole ATTACH PARTITION own; CREATE UNIQUE INDEX third ON p2 (at, id); ALTER INDEX whole ATTACH PARTITION third; ALTER INDEX p1_pkey RENAME TO \"odd \"\"$$' key\"; COMMENT ON CONSTRAINT \"odd \"\"$$' key\" ON p1 IS 'key'"},
	{"names of partitions' indexes that are swapped", pgParted + "CREATE INDEX a ON p (id); CREATE INDEX b ON p (id); ALTER INDEX p1_id_idx RENAME TO x; ALTER INDEX p1_id_idx1 RENAME TO p1_id_idx; ALTER INDEX x RENAME TO p1_id_idx1"},
	{"names below partitions", pgParted + pgDeep + "CREATE INDEX a ON p (id); ALTER INDEX p3_id_idx RENAME TO middle; ALTER INDEX p3a_id_idx RENAME TO low; COMMENT ON INDEX low IS 'low'"},
	{"options of partitions' indexes", pgParted + "CREATE INDEX a ON p (id) WITH (fillfactor = 50); ALTER INDEX p1_id_idx SET (fillfactor = 60, deduplicate_items = off); ALTER INDEX p2_id_idx RESET (fillfactor)"},
	{"tablespaces of partitions' indexes", pgParted + "CREATE INDEX a ON p (id); ALTER INDEX p1_id_idx SET TABLESPACE space; CREATE INDEX b ON p (at, id) TABLESPACE space; ALTER INDEX p2_at_id_idx SET TABLESPACE pg_default"},
	{"options below partitions", pgParted + pgDeep + "CREATE INDEX a ON p (id) WITH (fillfactor = 50) TABLESPACE space; ALTER INDEX p3_id_idx SET TABLESPACE pg_default; ALTER INDEX p3a_id_idx RESET (fillfactor); ALTER INDEX p3a_id_idx SET TABLESPACE pg_default; COMMENT ON INDEX a IS 'top'"},
	{"deferrable key of a partition", pgParted + "ALTER TABLE p1 ADD CONSTRAINT own UNIQUE (at, id) DEFERRABLE; ALTER TABLE p ADD CONSTRAINT whole UNIQUE (at, id); COMMENT ON CONSTRAINT own ON p1 IS 'own'"},
	{"index of a partition's own that the table has too", pgParted + "CREATE INDEX whole ON p (id) WHERE id > 5; CREATE INDEX own ON p1 (id) WHERE id > 5; CREATE INDEX other ON p1 (id) WHERE id > 6"},
	{"key of a partition's own that the table has too", pgParted + "ALTER TABLE p1 ADD CONSTRAINT own UNIQUE (at, id); ALTER TABLE p ADD CONSTRAINT whole UNIQUE (at, id); ALTER TABLE p1 ADD CONSTRAINT again UNIQUE (at, id)"},
	{"options of a partitioned partition's index", pgParted + pgDeep + "CREATE INDEX own ON p3 (id) WITH (fillfactor = 50); CREATE INDEX whole ON p (id)"},
	{"options of partitions' keys", pgParted + "ALTER TABLE p ADD CONSTRAINT whole UNIQUE (at, id) INCLUDE (s) WITH (fillfactor = 50, deduplicate_items = off) DEFERRABLE INITIALLY DEFERRED; ALTER INDEX p1_pkey SET (fillfactor = 60); ALTER INDEX p2_at_id_s_key RESET (fillfactor)"},
	{"references to partitions' keys", pgParted + "CREATE TABLE r (at date, p_id integer, CONSTRAINT f FOREIGN KEY (p_id, at) REFERENCES p, CONSTRAINT g FOREIGN KEY (p_id, at) REFERENCES p1 ON DELETE CASCADE DEFERRABLE NOT VALID); COMMENT ON CONSTRAINT f ON r IS 'f'; COMMENT ON CONSTRAINT g ON r IS 'g'; ALTER TABLE p ADD up_id integer, ADD CONSTRAINT self FOREIGN KEY (up_id, at) REFERENCES p; COMMENT ON CONSTRAINT self ON p IS 'self'"},
	{"order of partitions", pgParted + "ALTER TABLE p1 CLUSTER ON p1_pkey; ALTER TABLE p1 REPLICA IDENTITY USING INDEX p1_pkey; ALTER TABLE p2 REPLICA IDENTITY FULL"},
	{"targets of partitions' indexes", pgParted + "CREATE INDEX a ON p (id, lower(s)); ALTER INDEX p1_id_lower_idx ALTER COLUMN 2 SET STATISTICS 7; ALTER INDEX p2_id_lower_idx DEPENDS ON EXTENSION plpgsql"},
	{"names of partitions' references", pgParted + "CREATE TABLE p3 (LIKE p, CONSTRAINT own FOREIGN KEY (t_id) REFERENCES t); COMMENT ON CONSTRAINT own ON p3 IS 'own'; ALTER TABLE p ADD CONSTRAINT f FOREIGN KEY (t_id) REFERENCES t; ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')"},
	{"names of references to partitions", pgParted + "CREATE TABLE r (at date, p_id integer, CONSTRAINT f FOREIGN KEY (p_id, at) REFERENCES p, CONSTRAINT g FOREIGN KEY (p_id, at) REFERENCES p); CREATE TABLE p3 PARTITION OF p FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')"},
	{"type of an identity's sequence", "CREATE TABLE u (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY REFERENCES t); ALTER SEQUENCE u_id_seq AS bigint; CREATE TABLE v (id integer GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1) PRIMARY KEY REFERENCES t); ALTER SEQUENCE v_id_seq AS smallint"},
	{"identity with a sequence that is less safe", "CREATE TABLE u (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY REFERENCES t); ALTER SEQUENCE u_id_seq SET UNLOGGED; CREATE UNLOGGED TABLE v (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY REFERENCES t); ALTER SEQUENCE v_id_seq SET LOGGED"},
}

// pgParted creates a table p with partitions p1 and p2. The key of p refers to table t.
const pgParted = `CREATE TABLE p (id integer NOT NULL, at date NOT NULL, s text, t_id integer, CONSTRAINT up FOREIGN KEY (id) REFERENCES t) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
ALTER TABLE p ADD PRIMARY KEY (id, at);
`

// pgDeep adds to table p a partition p3 that is itself partitioned.
const pgDeep = `CREATE TABLE p3 PARTITION OF p FOR VALUES FROM ('2023-01-01') TO ('2024-01-01') PARTITION BY RANGE (at);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES FROM ('2023-01-01') TO ('2023-02-01');
`

// A move and its way back keep the properties of each case of pgKept, by Apply and Revert,
// and by migration files.
func postgresKept(t *testing.T, server *migratetest.PgServer) {
	migratetest.Run(t, server.Admin, "CREATE ROLE keeping")
	for _, test := range pgKept {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "GRANT CREATE ON SCHEMA public TO keeping; CREATE TABLE t (id serial PRIMARY KEY, n integer, s text); SELECT nextval('t_id_seq');"+test.ddl)
			plan := d.RoundTrip(t, "t")
			d.PgFiles(t, plan)
		})
	}
}

// Objects stay in their tablespace although default_tablespace names another one.
func postgresTablespace(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `CREATE TABLE t (id serial PRIMARY KEY, CONSTRAINT x EXCLUDE USING btree ((id % 100) WITH =));
		CREATE INDEX i ON t ((id % 10)); CREATE INDEX j ON t ((id % 10)) TABLESPACE space; SELECT nextval('t_id_seq')`)
	plan := d.Inspect(t, "t")
	before, kept := d.State(t), d.Kept(t)
	other := migratetest.PgOpen(t, d.URL+"&default_tablespace=space")
	if err := plan.Apply(context.Background(), other, sqlmigrate.WithPhases(sqlmigrate.Widen)); err != nil {
		t.Fatal(err)
	}
	migratetest.PgSame(t, "after up", d.Kept(t), kept)
	if err := plan.Revert(context.Background(), other, sqlmigrate.WithPhases(sqlmigrate.Widen)); err != nil {
		t.Fatal(err)
	}
	migratetest.PgSame(t, "after down", d.State(t), before)
}
