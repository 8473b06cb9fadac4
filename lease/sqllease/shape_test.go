package sqllease_test

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// A brokenTable is a table that cannot keep a worker to one holder.
type brokenTable struct {
	name       string
	statements string // create it; separated by semicolons at the ends of lines
	found      string // the expected flaws, separated by "; "
}

// columns returns a CREATE TABLE with this key, which may be empty. The changes are pairs
// of a column and a type other than the default.
func columns(key string, changes ...string) string {
	types := map[string]string{"namespace": "VARCHAR(64) NOT NULL", "worker_id": "INTEGER NOT NULL", "bound": "BIGINT NOT NULL", "owner": "VARCHAR(128) NOT NULL"}
	for i := 0; i < len(changes); i += 2 {
		types[changes[i]] = changes[i+1]
	}
	if key != "" {
		key = ", " + key
	}
	return fmt.Sprintf("CREATE TABLE snowflake_workers (namespace %s, worker_id %s, bound %s, owner %s%s)",
		types["namespace"], types["worker_id"], types["bound"], types["owner"], key)
}

// elsewhere changes the name of the created table.
func elsewhere(create string) string {
	return strings.Replace(create, "snowflake_workers", "elsewhere", 1)
}

// temporary makes the created table a temporary table.
func temporary(create string) string {
	return strings.Replace(create, "CREATE", "CREATE TEMPORARY", 1)
}

// primary is the key of a good table. noKey is the flaw of a table without such a key.
const (
	primary = "PRIMARY KEY (namespace, worker_id)"
	noKey   = "it has no unique key over namespace and worker_id alone"
)

// brokenSQLite, brokenMySQL and brokenPostgres are tables that the store refuses.
var brokenSQLite = []brokenTable{
	{"no key", columns(""), noKey},
	{"key of the worker alone", columns("PRIMARY KEY (worker_id)"), noKey},
	{"key with the bound", columns("PRIMARY KEY (namespace, worker_id, bound)"), noKey},
	{"key of other columns", columns("UNIQUE (namespace, owner)"), noKey},
	{"index that is not unique", columns("") + ";\nCREATE INDEX i ON snowflake_workers (namespace, worker_id)", noKey},
	{"partial key", columns("") + ";\nCREATE UNIQUE INDEX i ON snowflake_workers (namespace, worker_id) WHERE worker_id > 0", "i is partial"},
	{"key of an expression", columns("") + ";\nCREATE UNIQUE INDEX i ON snowflake_workers (lower(namespace), worker_id)", noKey},
	{"key that ignores case", columns("") + ";\nCREATE UNIQUE INDEX i ON snowflake_workers (namespace COLLATE NOCASE, worker_id)", "i has a collation other than BINARY"},
	{"key with NULL", columns("UNIQUE (namespace, worker_id)", "worker_id", "INTEGER"), "worker_id may be NULL"},
	{"bound TEXT", columns(primary, "bound", "TEXT"), "bound is TEXT"},
	{"bound REAL", columns(primary, "bound", "REAL"), "bound is REAL"},
	{"bound BLOB", columns(primary, "bound", "BLOB"), "bound is BLOB"},
	{"bound TIMESTAMP", columns(primary, "bound", "TIMESTAMP"), "bound is TIMESTAMP"},
	{"bound is generated", columns(primary, "bound", "BIGINT AS (worker_id)"), "bound is generated"},
	{"worker TEXT", columns(primary, "worker_id", "TEXT NOT NULL"), "worker_id is TEXT"},
	{"owner INTEGER", columns(primary, "owner", "INTEGER"), "owner is INTEGER"},
	{"owner NOCASE", columns(primary, "owner", "TEXT COLLATE NOCASE"), "owner is TEXT with a collation other than BINARY"},
	{"owner RTRIM", columns(primary, "owner", "TEXT COLLATE RTRIM"), "owner is TEXT with a collation other than BINARY"},
	{"namespace NOCASE", columns(primary, "namespace", "TEXT NOT NULL COLLATE NOCASE"), "namespace is TEXT with a collation other than BINARY; sqlite_autoindex_snowflake_workers_1 has a collation other than BINARY"},
	{"namespace NUMERIC", columns(primary, "namespace", "NUMERIC NOT NULL"), "namespace is NUMERIC"},
	{"view", elsewhere(columns(primary)) + ";\nCREATE VIEW snowflake_workers AS SELECT * FROM elsewhere", "it is a view"},
	{"temporary", temporary(columns(primary)), "it is a temporary table"},
	{"temporary before another", columns(primary) + ";\n" + temporary(columns(primary)), "it is a temporary table"},
	{"trigger BEFORE", columns(primary) + ";\nCREATE TRIGGER \"a \"\" b\" BEFORE UPDATE ON snowflake_workers BEGIN SELECT RAISE(IGNORE); END", `trigger a " b can change or suppress what is written`},
	{"trigger with AFTER in its name", columns(primary) + ";\nCREATE TRIGGER \"run AFTER write\" BEFORE UPDATE ON snowflake_workers BEGIN SELECT RAISE(IGNORE); END", `trigger run AFTER write can change or suppress what is written`},
	{"trigger without a time", columns(primary) + ";\nCREATE TRIGGER late INSERT ON snowflake_workers BEGIN SELECT RAISE(IGNORE); END", "trigger late can change or suppress what is written"},
	{"three flaws", columns("", "bound", "TEXT", "owner", "INTEGER"), "bound is TEXT; owner is INTEGER; " + noKey},
}

var brokenMySQL = []brokenTable{
	{"no key", columns("", binary...), noKey},
	{"key of the worker alone", columns("PRIMARY KEY (worker_id)", binary...), noKey},
	{"key with the bound", columns("PRIMARY KEY (namespace, worker_id, bound)", binary...), noKey},
	{"key of other columns", columns("UNIQUE (namespace, owner)", binary...), noKey},
	{"index that is not unique", columns("KEY (namespace, worker_id)", binary...), noKey},
	{"key of a prefix", columns("UNIQUE i (namespace(5), worker_id)", binary...), "i covers only a prefix"},
	{"key with NULL", columns("UNIQUE (namespace, worker_id)", binaryAnd("worker_id", "INTEGER")...), "worker_id may be NULL"},
	{"bound INT", columns(primary, binaryAnd("bound", "INT")...), "bound is int"},
	{"bound DOUBLE", columns(primary, binaryAnd("bound", "DOUBLE")...), "bound is double"},
	{"bound VARCHAR", columns(primary, binaryAnd("bound", "VARCHAR(20) COLLATE utf8mb4_bin")...), "bound is varchar(20) with the collation utf8mb4_bin"},
	{"bound UNSIGNED", columns(primary, binaryAnd("bound", "BIGINT UNSIGNED")...), "bound is bigint unsigned"},
	{"bound of 18 digits", columns(primary, binaryAnd("bound", "DECIMAL(18)")...), "bound is decimal(18,0)"},
	{"bound with a fraction", columns(primary, binaryAnd("bound", "DECIMAL(30,2)")...), "bound is decimal(30,2)"},
	{"bound is generated", columns(primary, binaryAnd("bound", "BIGINT AS (worker_id) STORED")...), "bound is generated"},
	{"worker SMALLINT", columns(primary, binaryAnd("worker_id", "SMALLINT")...), "worker_id is smallint"},
	{"worker UNSIGNED", columns(primary, binaryAnd("worker_id", "INT UNSIGNED")...), "worker_id is int unsigned"},
	{"owner too narrow", columns(primary, binaryAnd("owner", "VARBINARY(127)")...), "owner is varbinary(127)"},
	{"owner BINARY", columns(primary, binaryAnd("owner", "BINARY(128)")...), "owner is binary(128)"},
	{"owner CHAR", columns(primary, binaryAnd("owner", "CHAR(128) COLLATE utf8mb4_bin")...), "owner is char(128) with the collation utf8mb4_bin"},
	{"owner without case", columns(primary, binaryAnd("owner", "VARCHAR(128) COLLATE utf8mb4_general_ci")...), "owner is varchar(128) with the collation utf8mb4_general_ci"},
	{"namespace without case", columns(primary, binaryAnd("namespace", "VARCHAR(64) COLLATE utf8mb4_general_ci")...), "namespace is varchar(64) with the collation utf8mb4_general_ci"},
	{"namespace too narrow", columns(primary, binaryAnd("namespace", "VARBINARY(63)")...), "namespace is varbinary(63)"},
	{"view", elsewhere(columns(primary, binary...)) + ";\nCREATE VIEW snowflake_workers AS SELECT * FROM elsewhere", "it is a view"},
	{"temporary", temporary(columns(primary, binary...)), "it is a temporary table"},
	{"temporary before another", columns(primary, binary...) + ";\n" + temporary(columns(primary, binary...)), "it is a temporary table"},
	{"trigger BEFORE", columns(primary, binary...) + ";\nCREATE TRIGGER `a``b` BEFORE UPDATE ON snowflake_workers FOR EACH ROW SET NEW.bound = OLD.bound", "trigger a`b can change what is written"},
	{
		"MERGE", elsewhere(columns("KEY (namespace, worker_id)", binary...)) + " ENGINE=MyISAM;\n" +
			columns("KEY (namespace, worker_id)", binary...) + " ENGINE=MERGE UNION=(elsewhere) INSERT_METHOD=LAST",
		"it has the engine MRG_MyISAM, which keeps no key; " + noKey,
	},
	{"two flaws", columns("", binaryAnd("bound", "INT")...), "bound is int; " + noKey},
}

// displayWidth matches the width that MariaDB adds to the name of a type, as in int(11).
var displayWidth = regexp.MustCompile(`(int)\(\d+\)`)

// binary are the types with which MySQL compares byte by byte.
var binary = []string{"namespace", "VARBINARY(64) NOT NULL", "owner", "VARBINARY(128) NOT NULL"}

// binaryAnd returns the types of binary and further changes.
func binaryAnd(changes ...string) []string { return append(append([]string{}, binary...), changes...) }

// keep creates the function of a trigger that keeps a row from being written. caseless
// creates a collation that ignores case. twice inserts two rows of one worker.
const (
	keep     = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
	caseless = "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
	twice    = "INSERT INTO snowflake_workers VALUES ('', 1, 1, ''), ('', 1, 1, '')"
)

var brokenPostgres = []brokenTable{
	{"no key", columns(""), noKey},
	{"key of the worker alone", columns("PRIMARY KEY (worker_id)"), noKey},
	{"key with the bound", columns("PRIMARY KEY (namespace, worker_id, bound)"), noKey},
	{"key of other columns", columns("UNIQUE (namespace, owner)"), noKey},
	{"index that is not unique", columns("") + ";\nCREATE INDEX ON snowflake_workers (namespace, worker_id)", noKey},
	{"partial key", columns("") + ";\nCREATE UNIQUE INDEX i ON snowflake_workers (namespace, worker_id) WHERE worker_id > 0", "i is partial"},
	{"key of an expression", columns("") + ";\nCREATE UNIQUE INDEX ON snowflake_workers (lower(namespace), worker_id)", noKey},
	{"deferrable key", columns(primary + " DEFERRABLE"), "snowflake_workers_pkey is deferrable"},
	{"invalid key", columns("") + ";\n" + twice + ";\n-CREATE UNIQUE INDEX CONCURRENTLY i ON snowflake_workers (namespace, worker_id);\nDELETE FROM snowflake_workers", "i is not valid"},
	{"key that ignores case", caseless + ";\n" + columns("") + ";\nCREATE UNIQUE INDEX i ON snowflake_workers (namespace COLLATE caseless, worker_id)", "i has a nondeterministic collation"},
	{"key with NULL", columns("UNIQUE (namespace, worker_id)", "namespace", "TEXT"), "namespace may be NULL"},
	{"bound INTEGER", columns(primary, "bound", "INTEGER"), "bound is integer"},
	{"bound DOUBLE", columns(primary, "bound", "DOUBLE PRECISION"), "bound is double precision"},
	{"bound TEXT", columns(primary, "bound", "TEXT"), "bound is text"},
	{"bound of 18 digits", columns(primary, "bound", "NUMERIC(18)"), "bound is numeric(18,0)"},
	{"bound with a fraction", columns(primary, "bound", "NUMERIC(30,2)"), "bound is numeric(30,2)"},
	{"bound is generated", columns(primary, "bound", "BIGINT GENERATED ALWAYS AS (worker_id) STORED"), "bound is generated"},
	{"bound of a domain", "CREATE DOMAIN moment AS INTEGER;\n" + columns(primary, "bound", "moment"), "bound is moment"},
	{"worker SMALLINT", columns(primary, "worker_id", "SMALLINT"), "worker_id is smallint"},
	{"owner too narrow", columns(primary, "owner", "VARCHAR(127)"), "owner is character varying(127)"},
	{"owner CHAR", columns(primary, "owner", "CHAR(128)"), "owner is character(128)"},
	{"owner NAME", columns(primary, "owner", "NAME"), "owner is name"},
	{"owner BYTEA", columns(primary, "owner", "BYTEA"), "owner is bytea"},
	{"owner without case", caseless + ";\n" + columns(primary, "owner", "TEXT COLLATE caseless"), "owner is text with the nondeterministic collation caseless"},
	{"namespace without case", caseless + ";\n" + columns(primary, "namespace", "TEXT COLLATE caseless"), "namespace is text with the nondeterministic collation caseless; snowflake_workers_pkey has a nondeterministic collation"},
	{"namespace too narrow", columns(primary, "namespace", "VARCHAR(63)"), "namespace is character varying(63)"},
	{"view", elsewhere(columns(primary)) + ";\nCREATE VIEW snowflake_workers AS SELECT * FROM elsewhere", "it is a view"},
	{"materialized view", elsewhere(columns(primary)) + ";\nCREATE MATERIALIZED VIEW snowflake_workers AS SELECT * FROM elsewhere", "it is a materialized view"},
	{"temporary", temporary(columns(primary)), "it is a temporary table"},
	{"partitioned", columns(primary) + " PARTITION BY LIST (namespace);\nCREATE TABLE p PARTITION OF snowflake_workers DEFAULT", "it is a partitioned table"},
	{"partition", elsewhere(columns(primary)) + " PARTITION BY LIST (namespace);\nCREATE TABLE snowflake_workers PARTITION OF elsewhere DEFAULT", "it is a partition"},
	{"parent", columns(primary) + ";\nCREATE TABLE child () INHERITS (snowflake_workers)", "it is the parent of another table (INHERITS)"},
	{"child", elsewhere(columns(primary)) + ";\nCREATE TABLE snowflake_workers (" + primary + ") INHERITS (elsewhere)", "it is a child of another table (INHERITS)"},
	{"rule", columns(primary) + ";\nCREATE RULE \"No\" AS ON UPDATE TO snowflake_workers DO INSTEAD NOTHING", `rule "No" rewrites statements`},
	{"owner of one byte", columns(primary, "owner", `"char"`), `owner is "char"`},
	{"trigger BEFORE", keep + ";\n" + columns(primary) + ";\nCREATE TRIGGER \"Keep\" BEFORE UPDATE ON snowflake_workers FOR EACH ROW EXECUTE FUNCTION keep()", `trigger "Keep" can change or suppress what is written`},
	{"row level security", columns(primary) + ";\nALTER TABLE snowflake_workers ENABLE ROW LEVEL SECURITY;\nALTER TABLE snowflake_workers FORCE ROW LEVEL SECURITY", "row level security can hide rows from this user"},
	{"two flaws", columns("", "bound", "INTEGER"), "bound is integer; " + noKey},
}

// The store must refuse each table that cannot keep a worker to one holder, before it writes.
// Except for a view, the error has SQL that fixes the table. After this SQL the store must
// accept the table.
func TestBrokenTables(t *testing.T) {
	t.Parallel()
	for target, shapes := range map[testdb.Target][]brokenTable{
		testdb.SQLite: brokenSQLite, testdb.SQLiteMattn: brokenSQLite, testdb.Postgres: brokenPostgres,
		testdb.MySQL: brokenMySQL, testdb.MariaDB: append(brokenMySQL, brokenTable{
			"system-versioned", columns(primary, binary...) + " WITH SYSTEM VERSIONING", "it is of the type SYSTEM VERSIONED",
		}),
	} {
		for _, shape := range shapes {
			t.Run(string(target)+" "+shape.name, func(t *testing.T) {
				t.Parallel()
				db := testdb.Open(t, target)
				if strings.HasPrefix(shape.name, "temporary") {
					limitPool(t, db, 1) // because only the session that has created the table sees it
				}
				refusesTable(t, db, shape)
			})
		}
	}
}

// refusesTable creates the table. It expects that the store refuses the table before a
// write, and accepts it after running the fix of the error.
func refusesTable(t *testing.T, db *gorm.DB, shape brokenTable) {
	t.Helper()
	runScript(t, db, shape.statements)
	store := newStore(db, sqllease.AllowVolatile())
	refused := refusal(t, acquire(t, store))
	var found []string
	for _, flaw := range refused.Flaws {
		found = append(found, flaw.Found)
		if flaw.Want == "" || flaw.Fix == "" || strings.Contains(flaw.Found+flaw.Want+flaw.Fix, "\n") {
			t.Errorf("flaw %+v: want all fields, in one line each", flaw)
		}
	}
	if got := displayWidth.ReplaceAllString(strings.Join(found, "; "), "$1"); !strings.EqualFold(got, shape.found) {
		t.Errorf("found %s, want %s", got, shape.found)
	}
	if _, err := store.CompareAndSwap(within(t, patience), 1, lease.Record{}, first); errorText(err) != "sqllease: "+refused.Error() {
		t.Errorf("CompareAndSwap = %v, want the error of Acquire, %v", err, refused)
	}
	var rows int64
	if err := db.Raw("SELECT count(*) FROM snowflake_workers").Scan(&rows).Error; err != nil || rows != 0 {
		t.Errorf("%d rows were written (%v), want none", rows, err)
	}
	if shape.found == "it is a view" { // its fix is not SQL
		return
	}
	for _, flaw := range refused.Flaws {
		fix(t, db, flaw)
		if acquire(t, store) == nil { // a rebuilt table has no flaws any more
			return
		}
	}
	t.Errorf("after the fixes %+v: %v", refused.Flaws, acquire(t, store))
}

// fix runs the SQL of the flaw's fix, which may follow instructions that end in "and run".
func fix(t *testing.T, db *gorm.DB, flaw sqllease.Flaw) {
	t.Helper()
	_, statements, found := strings.Cut(flaw.Fix, "and run ")
	if !found {
		statements = flaw.Fix
	}
	runScript(t, db, strings.ReplaceAll(statements, "; ", ";\n"))
}

// runScript runs statements. A statement that begins with a minus sign must fail.
func runScript(t *testing.T, db *gorm.DB, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";\n") {
		statement, fails := strings.CutPrefix(statement, "-")
		if err := db.Exec(statement).Error; (err != nil) != fails {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// acquire leases a worker in the store and releases it.
func acquire(t *testing.T, store lease.Store) error {
	t.Helper()
	held, err := lease.Acquire(within(t, patience), store, snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err == nil {
		err = held.Release(within(t, patience))
	}
	return err
}

// refusal returns the TableError that err must be.
func refusal(t *testing.T, err error) *sqllease.TableError {
	t.Helper()
	var refused *sqllease.TableError
	if !errors.As(err, &refused) || len(refused.Flaws) == 0 {
		t.Fatalf("got %v, want a TableError", err)
	}
	return refused
}

// The store refuses tables of extensions. The test starts servers of its own, because only
// a superuser may create extensions.
func TestBrokenTablesOfPostgresExtensions(t *testing.T) {
	t.Parallel()
	for _, shape := range []brokenTable{
		{"citext", "CREATE EXTENSION citext;\n" + columns(primary, "owner", "CITEXT"), "owner is citext"},
		{
			"foreign table", "CREATE EXTENSION postgres_fdw;\nCREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;\n" +
				strings.Replace(columns(""), "TABLE", "FOREIGN TABLE", 1) + " SERVER elsewhere",
			"it is a foreign table",
		},
	} {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.OpenURL(t, testserver.Postgres(t).URL())
			runScript(t, db, shape.statements)
			refused := refusal(t, acquire(t, newStore(db)))
			if got := refused.Flaws[0].Found; got != shape.found || len(refused.Flaws) != 1 {
				t.Errorf("found %+v, want %s", refused.Flaws, shape.found)
			}
		})
	}
}

// A TableError has a line for each flaw, with the wanted state and the fix.
func TestTableError(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	run(t, db, columns("", "bound", "INTEGER"))
	wantError(t, "two flaws", newStore(db), `sqllease: table "snowflake_workers" cannot keep a worker to one holder: bound is integer: want BIGINT: `+
		`ALTER TABLE "snowflake_workers" ALTER COLUMN bound TYPE BIGINT USING CAST(bound AS BIGINT), ALTER COLUMN bound SET NOT NULL
table "snowflake_workers" cannot keep a worker to one holder: `+noKey+`: want UNIQUE (namespace, worker_id): `+
		`CREATE UNIQUE INDEX ON "snowflake_workers" (namespace, worker_id)`)
}

// The store accepts tables that people may write by hand, with other types, keys, indexes
// and triggers than its own, if they keep every record exactly.
func TestGoodTables(t *testing.T) {
	t.Parallel()
	// The store must accept "security for others", because row level security does not apply
	// to the owner of a table. In "temporary schema", the session has created another temporary
	// table, so that it searches a further schema before the search_path. In "case matters",
	// a broken table has a name that differs only in case.
	unique := columns("UNIQUE (worker_id, namespace)")
	for target, tables := range map[testdb.Target]map[string]string{
		testdb.SQLite: {
			"unique constraint": unique,
			"other types":       columns(primary, "namespace", "TEXT NOT NULL", "worker_id", "BIGINT", "bound", "INTEGER", "owner", "BLOB"),
			"decimal":           columns(primary, "bound", "NUMERIC(19,0)"),
			"strict":            columns(primary, "namespace", "TEXT", "bound", "INTEGER", "owner", "TEXT") + " STRICT, WITHOUT ROWID",
			"more":              columns("note TEXT DEFAULT 'x' COLLATE NOCASE, "+primary) + ";\nCREATE INDEX i ON snowflake_workers (owner COLLATE NOCASE)",
			"capitals":          strings.ToUpper(columns(primary)),
			"triggers": columns(primary) + ";\nCREATE TRIGGER after AFTER UPDATE ON snowflake_workers BEGIN SELECT 1; END" +
				";\nCREATE TRIGGER `a``b` AFTER UPDATE ON snowflake_workers BEGIN SELECT 1; END" +
				";\nCREATE TRIGGER [no row] BEFORE DELETE ON snowflake_workers BEGIN SELECT RAISE(ABORT, 'no'); END",
			"a table of another name": columns(primary) + ";\nCREATE TABLE snowflake_workers2 (bound INT)",
		},
		testdb.MySQL: {
			"unique key":   columns("UNIQUE (worker_id, namespace)", binary...),
			"other types":  columns(primary, binaryAnd("worker_id", "BIGINT", "owner", "TINYBLOB")...),
			"decimal":      columns(primary, binaryAnd("bound", "DECIMAL(19)")...),
			"utf8mb4_bin":  columns(primary) + " COLLATE utf8mb4_bin",
			"ascii":        columns(primary, "namespace", "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin", "owner", "TEXT CHARACTER SET ascii COLLATE ascii_bin"),
			"more":         columns("note TEXT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, KEY (owner), "+primary, binary...),
			"partitioned":  columns(primary, binary...) + " PARTITION BY HASH (worker_id) PARTITIONS 4",
			"trigger":      columns(primary, binary...) + ";\nCREATE TRIGGER later AFTER UPDATE ON snowflake_workers FOR EACH ROW SET @seen = 1",
			"case matters": columns(primary, binary...) + ";\n" + strings.Replace(columns("", "bound", "INT"), "snowflake", "Snowflake", 1),
		},
		testdb.Postgres: {
			"unique constraint": unique,
			"other types":       columns(primary, "namespace", "TEXT", "worker_id", "BIGINT", "owner", "VARCHAR"),
			"numeric":           columns(primary, "worker_id", "NUMERIC(10)", "bound", "NUMERIC"),
			"collation":         columns(primary, "namespace", `TEXT COLLATE "POSIX"`),
			"domain":            "CREATE DOMAIN moment AS BIGINT;\n" + columns(primary, "bound", "moment"),
			"more":              columns("note TEXT DEFAULT 'x', at TIMESTAMPTZ DEFAULT now()") + ";\nCREATE UNIQUE INDEX ON snowflake_workers (namespace, worker_id) INCLUDE (bound);\nCREATE INDEX ON snowflake_workers (owner)",
			"two keys":          columns("") + ";\nCREATE UNIQUE INDEX ON snowflake_workers (namespace, worker_id) WHERE bound > 0;\nCREATE UNIQUE INDEX ON snowflake_workers (namespace, worker_id)",
			"triggers": keep + ";\n" + columns(primary) + ";\nCREATE TRIGGER a AFTER UPDATE ON snowflake_workers FOR EACH ROW EXECUTE FUNCTION keep()" +
				";\nCREATE TRIGGER b BEFORE UPDATE ON snowflake_workers FOR EACH STATEMENT EXECUTE FUNCTION keep()" +
				";\nCREATE TRIGGER c BEFORE UPDATE ON snowflake_workers FOR EACH ROW EXECUTE FUNCTION keep();\nALTER TABLE snowflake_workers DISABLE TRIGGER c" +
				";\nCREATE TRIGGER d BEFORE DELETE ON snowflake_workers FOR EACH ROW EXECUTE FUNCTION keep()",
			"security for others": columns(primary) + ";\nALTER TABLE snowflake_workers ENABLE ROW LEVEL SECURITY",
			"temporary schema":    "CREATE TEMPORARY TABLE others (a INT);\n" + columns(primary),
		},
	} {
		if target == testdb.SQLite {
			acceptsTables(t, testdb.SQLiteMattn, tables)
		}
		for _, target := range testdb.Alike(target) {
			acceptsTables(t, target, tables)
		}
	}
	acceptsTables(t, testdb.MariaDB, map[string]string{"no blanks": columns(primary) + " COLLATE utf8mb4_nopad_bin"})
	acceptsTables(t, testdb.MySQL, map[string]string{"no blanks": columns(primary) + " COLLATE utf8mb4_0900_bin"})
}

// acceptsTables runs a subtest for each table, whose statements create it.
func acceptsTables(t *testing.T, target testdb.Target, tables map[string]string) {
	t.Helper()
	for name, statements := range tables {
		t.Run(string(target)+" "+name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			runScript(t, db, statements)
			acceptsTable(t, newStore(db))
		})
	}
}

// acceptsTable expects that the store can keep extreme records in the table, that
// CompareAndSwap distinguishes owners that differ only in case, and that a lease can acquire a
// worker.
func acceptsTable(t *testing.T, store lease.Store) {
	t.Helper()
	last := lease.Record{Bound: 1<<63 - 1, Owner: strings.Repeat("~", 127) + "A"}
	swap(t, store, 1<<31-1, lease.Record{}, first, true)
	swap(t, store, 1<<31-1, first, last, true)
	swap(t, store, 1<<31-1, lease.Record{Bound: last.Bound, Owner: strings.Repeat("~", 127) + "a"}, first, false)
	if got := load(t, store)[1<<31-1]; got != last {
		t.Errorf("the table holds %+v, want %+v", got, last)
	}
	if err := acquire(t, store); err != nil {
		t.Error(err)
	}
}

// The store accepts a table that GORM's AutoMigrate has created from a model.
func TestMigratedTable(t *testing.T) {
	t.Parallel()
	type SnowflakeWorker struct {
		Namespace string `gorm:"primaryKey;size:64"`
		WorkerID  int32  `gorm:"primaryKey;autoIncrement:false"`
		Bound     int64
		Owner     string `gorm:"size:128"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			db = db.Set("gorm:table_options", "COLLATE=utf8mb4_bin") // because the default ignores case
		}
		if err := db.AutoMigrate(&SnowflakeWorker{}); err != nil {
			t.Fatal(err)
		}
		acceptsTable(t, newStore(db))
	})
}

// The collation utf8mb4_bin ignores blanks at the end. The store accepts it, unless the
// namespace ends in a blank, because then two namespaces would share their workers.
func TestNamespaceWithBlankAtTheEnd(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, columns(primary)+" COLLATE utf8mb4_bin")
		acceptsTable(t, newStore(db, sqllease.WithNamespace("a b")))
		refused := refusal(t, acquire(t, newStore(db, sqllease.WithNamespace("a "))))
		const want = `namespace is varchar(64) with the collation utf8mb4_bin, which ignores the blank at the end of "a "`
		if got := refused.Flaws[0].Found; got != want || len(refused.Flaws) != 1 {
			t.Errorf("found %+v, want %s", refused.Flaws, want)
		}
	})
}

// The store checks the table in the schema that WithTable names, whose name here needs
// quotes. The fix in the error applies to the same table.
func TestShapeOfNamedTable(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		quoted := map[string]string{"sqlite": `"Odd-1"`, "mysql": "`Odd-1`", "postgres": `"Odd-1"`}[db.Name()]
		run(t, db, strings.Replace(elsewhere(columns("")), "elsewhere", quoted, 1))
		refused := refusal(t, acquire(t, newStore(db, sqllease.WithTable(schemaOf(t, db)+".Odd-1"), sqllease.ExistingTable())))
		if !strings.Contains(refused.Table, schemaOf(t, db)) || !strings.Contains(refused.Flaws[len(refused.Flaws)-1].Found, noKey) {
			t.Errorf("got %v, want the table with its schema and %s", refused, noKey)
		}
		fix(t, db, refused.Flaws[len(refused.Flaws)-1]) // the missing key
		if db.Name() != "mysql" {                       // in MySQL the owner's collation is another flaw
			acceptsTable(t, newStore(db, sqllease.WithTable(schemaOf(t, db)+".Odd-1")))
		}
		acceptsTable(t, newStore(db))
	})
}

// If a table was named with its schema, the fix in the error names the schema too, and is
// valid SQL. Each case has a flaw whose fix renames the table and creates a new table.
func TestFixOfNamedTable(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		create := map[string]string{
			"sqlite":   columns(primary, "bound", "TEXT"),
			"mysql":    columns(primary, binaryAnd("bound", "BIGINT AS (worker_id) STORED")...),
			"postgres": columns(primary, "bound", "BIGINT GENERATED ALWAYS AS (worker_id) STORED"),
		}[db.Name()]
		run(t, db, elsewhere(create))
		store := newStore(db, sqllease.WithTable(schemaOf(t, db)+".elsewhere"))
		refused := refusal(t, acquire(t, store))
		if schema := schemaOf(t, db); !strings.Contains(refused.Flaws[0].Fix, schema) {
			t.Errorf("the fix is %q, want it to name schema %s", refused.Flaws[0].Fix, schema)
		}
		fix(t, db, refused.Flaws[0])
		acceptsTable(t, store)
	})
}

// The table was named without a schema, and the store finds the table in a schema whose name
// contains a dot. The fix must name this schema as one quoted name.
func TestFixInSchemaWithDot(t *testing.T) {
	t.Parallel()
	db := withSynchronous(t, testdb.Open(t, testdb.SQLite), 1) // over one connection, because ATTACH is for one
	run(t, db, "ATTACH '"+t.TempDir()+"/other.db' AS \"a.b\"",
		strings.Replace(elsewhere(columns(primary)), "elsewhere", `"a.b".elsewhere`, 1))
	store := newStore(db, sqllease.WithTable("elsewhere"))
	load(t, store)
	run(t, db, `DROP TABLE "a.b".elsewhere`, strings.Replace(elsewhere(columns(primary, "bound", "TEXT")), "elsewhere", `"a.b".elsewhere`, 1))
	fix(t, db, refusal(t, store.(lease.Checker).Check(t.Context())).Flaws[0])
	acceptsTable(t, store)
}

// The fix that drops a trigger names the trigger's schema, and quotes its odd name.
func TestFixOfNamedTrigger(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, elsewhere(columns(primary, binary...)),
			"CREATE TRIGGER `a``b` BEFORE UPDATE ON elsewhere FOR EACH ROW SET NEW.bound = OLD.bound")
		store := newStore(db, sqllease.WithTable(schemaOf(t, db)+".elsewhere"))
		fix(t, db, refusal(t, acquire(t, store)).Flaws[0])
		acceptsTable(t, store)
	})
}

// Newer servers list a session's temporary tables in the catalog. A proxy makes the catalog
// of any server answer like theirs, and the store must refuse the table.
func TestTemporaryTableIsListed(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, columns(primary, binary...))
		listed := replacing("CONVERT(TABLE_TYPE USING utf8mb4)", "'TEMPORARY'")(t, db)
		if refused := refusal(t, acquire(t, newStore(listed))); refused.Flaws[0].Found != "it is a temporary table" {
			t.Errorf("found %+v", refused.Flaws)
		}
	})
}

// A row without a bound, in a table that somebody else has created, must not look like
// a free worker.
func TestLoadRefusesNull(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		types := []string{"owner", "VARCHAR(128)", "bound", "BIGINT"}
		if db.Name() == "mysql" {
			types = binaryAnd("owner", "VARBINARY(128)", "bound", "BIGINT")
		}
		run(t, db, columns(primary, types...), "INSERT INTO snowflake_workers VALUES ('default', 1, NULL, NULL)")
		if records, err := newStore(db).Load(within(t, patience)); err == nil || !strings.Contains(err.Error(), "NULL") {
			t.Errorf("Load = %v, %v, want an error about NULL", records, err)
		}
	})
}

// SQLite can store text in a column of integers. If the worker_id of a row is no number, Load
// must return an error that contains the text. A proxy replaces the worker_id by a text on
// every database.
func TestLoadRefusesText(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		swap(t, newStore(db), 7, lease.Record{}, first, true)
		records, err := newStore(replacing("SELECT worker_id", "SELECT 'seven'")(t, db)).Load(within(t, patience))
		if err == nil || !strings.Contains(err.Error(), "seven") {
			t.Errorf("Load = %v, %v, want an error about seven", records, err)
		}
	})
}

// Load returns an error if a worker has two rows, which a damaged index may have allowed. It
// also returns an error for a worker below -1 or beyond 32 bits, which no store has written
// but which a column of another type can hold.
func TestLoadRefusesRows(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		swap(t, newStore(db), 7, lease.Record{}, first, true)
		doubled := proxied(t, db, &proxy{rewrite: func(statement string) string {
			if strings.HasPrefix(statement, "SELECT worker_id") {
				return "SELECT a.* FROM (" + statement + ") a CROSS JOIN (SELECT 1 UNION ALL SELECT 2) b"
			}
			return statement
		}})
		// The proxies change worker 7 to -2, and to 1 << 32.
		for _, test := range []struct {
			db   *gorm.DB
			want string
		}{
			{doubled, `worker 7 of namespace "default" has two rows`},
			{replacing("SELECT worker_id", "SELECT worker_id - 9")(t, db), `namespace "default" has a row of worker -2`},
			{replacing("SELECT worker_id", "SELECT worker_id + 4294967289")(t, db), `namespace "default" has a row of worker 4294967296`},
		} {
			records, err := newStore(test.db).Load(within(t, patience))
			if refused := refusal(t, err); refused.Flaws[0].Found != test.want {
				t.Errorf("Load = %v, %v, want %s", records, err, test.want)
			}
		}
	})
}
