package migratetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"
)

// LargeID is a key above 2^53, like the keys that are issued in 2026.
const LargeID int64 = 1801439850948198400

// LargeTables returns the number of connected tables that a test moves: 300 if
// GORMFLAKE_TEST_ROWS is set, and otherwise the given number.
func LargeTables(otherwise int) int {
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		return 300
	}
	return otherwise
}

// A Reference is a column that refers to a key. All names are quoted as in a statement.
type Reference struct{ Table, Column, KeyTable, Key string }

// ReadReferences returns the rows of query as references. Its four columns are the table,
// the column, the table of the key, and the key.
func ReadReferences(t *testing.T, db *gorm.DB, query string) []Reference {
	t.Helper()
	rows, err := db.Raw(query).Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []Reference
	for rows.Next() {
		var r Reference
		if err := rows.Scan(&r.Table, &r.Column, &r.KeyTable, &r.Key); err != nil {
			t.Fatal(err)
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// WantJoined fails the test unless each referring column has values from [LargeID] on, and
// the key of each of these values exists.
func WantJoined(t *testing.T, db *gorm.DB, references []Reference) {
	t.Helper()
	for _, r := range references {
		var rows, joined int
		query := fmt.Sprintf("SELECT count(*), count(p.%s) FROM %s c LEFT JOIN %s p ON p.%s = c.%s WHERE c.%s >= %d", r.Key, r.Table, r.KeyTable, r.Key, r.Column, r.Column, LargeID)
		if err := db.Raw(query).Row().Scan(&rows, &joined); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if rows == 0 || joined != rows {
			t.Errorf("%s.%s: %d rows above 2^53, of which %d are joined with %s.%s, want all of some", r.Table, r.Column, rows, joined, r.KeyTable, r.Key)
		}
	}
}

// A LargeSchema creates PostgreSQL tables that are all connected with each other, like the
// tables of MusicBrainz. The tables are called t0, t1 and so on. Each table refers to itself.
// Except for the first, it also has two columns that refer to earlier tables. Each table has
// its own indexes. Views are based on each other up to a depth of three. For every five views
// there is also a materialized view on a view, a rule of a view, and a partitioned table that
// refers to a table.
type LargeSchema struct {
	Tables, Views int
	text          strings.Builder
}

// add adds a statement.
func (s *LargeSchema) add(format string, args ...any) { fmt.Fprintf(&s.text, format+";\n", args...) }

// Make returns the statements that create the schema, with parents before their children.
func (s *LargeSchema) Make() string {
	for i := range s.Tables {
		s.table(i)
	}
	for i := range s.Views {
		s.view(i)
	}
	for i := range s.Views / 5 {
		s.add("CREATE MATERIALIZED VIEW m%[1]d AS SELECT * FROM v%[2]d; CREATE INDEX ON m%[1]d (id, name)", i, s.Views-1-i)
		s.add("CREATE RULE r AS ON DELETE TO v%d DO INSTEAD NOTHING", i)
		s.add("CREATE TABLE p%[1]d (id integer NOT NULL REFERENCES t%[1]d, at date NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)", i)
		s.add("CREATE TABLE p%[1]d_1 PARTITION OF p%[1]d FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); CREATE TABLE p%[1]d_2 PARTITION OF p%[1]d DEFAULT", i)
	}
	for i := range s.Tables / 3 {
		s.add("CREATE FUNCTION f%[1]d(p integer) RETURNS integer LANGUAGE plpgsql AS 'DECLARE x integer; BEGIN SELECT max(id) INTO x FROM t%[1]d; RETURN x + p; END'", i)
	}
	return s.text.String()
}

// Targets returns the names of the tables, as the targets of Inspect.
func (s *LargeSchema) Targets() []any {
	targets := make([]any, s.Tables)
	for i := range targets {
		targets[i] = fmt.Sprint("t", i)
	}
	return targets
}

// Rows returns the statements that insert a row into each table, and two rows into each
// partitioned table. The row of table number n has the key first + n, and refers to rows
// of the tables to which its table refers.
func (s *LargeSchema) Rows(first int64) string {
	var text strings.Builder
	for i := range int64(s.Tables) {
		next, far := "NULL", "NULL"
		if i > 0 { // the rows of the tables to which method table refers in these columns
			next, far = strconv.FormatInt(first+i-1, 10), strconv.FormatInt(first+i*7/3%i, 10)
		}
		fmt.Fprintf(&text, "INSERT INTO t%[1]d (id, parent_id, next_id, far_id, seen_ids) VALUES (%[2]d, %[2]d, %[3]s, %[4]s, '{1,%[2]d}');\n", i, first+i, next, far)
	}
	for i := range int64(s.Views / 5) {
		fmt.Fprintf(&text, "INSERT INTO p%d VALUES (%d, '2020-02-02'), (%d, '2022-02-02');\n", i, first+i, first+i)
	}
	return text.String()
}

// Removal returns the statements that delete the rows of [LargeSchema.Rows].
func (s *LargeSchema) Removal(first int64) string {
	var text strings.Builder
	for i := range s.Views / 5 {
		fmt.Fprintf(&text, "DELETE FROM p%d WHERE id >= %d;\n", i, first)
	}
	for i := s.Tables - 1; i >= 0; i-- {
		fmt.Fprintf(&text, "DELETE FROM t%d WHERE id >= %d;\n", i, first)
	}
	return text.String()
}

// table adds table number i, which refers to itself, to the table before it, and to
// another earlier table.
func (s *LargeSchema) table(i int) {
	s.add("CREATE TABLE t%d (id serial PRIMARY KEY, parent_id integer, next_id integer, far_id integer, name text NOT NULL DEFAULT 'x', note text[] DEFAULT '{a,b}', seen_ids bigint[], at timestamptz, UNIQUE (name, id))", i)
	s.add("CREATE INDEX ON t%[1]d (parent_id); CREATE INDEX ON t%[1]d (next_id, far_id); CREATE INDEX ON t%[1]d (lower(name)); CREATE INDEX ON t%[1]d (at) WHERE id > 5", i)
	s.add("ALTER TABLE t%[1]d ADD CHECK (name <> ''), ADD CHECK (parent_id > 0), ADD FOREIGN KEY (parent_id) REFERENCES t%[1]d", i)
	if i > 0 { // any function of i that returns an earlier table will do; Rows uses the same
		s.add("ALTER TABLE t%d ADD FOREIGN KEY (next_id) REFERENCES t%d, ADD FOREIGN KEY (far_id) REFERENCES t%d", i, i-1, i*7/3%i)
	}
}

// view adds view number i. The views of the first third join two tables, and the views of
// the other thirds join two views of earlier thirds.
func (s *LargeSchema) view(i int) {
	if third := s.Views / 3; i >= third && third > 0 {
		s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM v%d a JOIN v%d b ON b.id = a.other_id", i, i-third, (i+third-1)%third)
		return
	}
	s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM t%d a LEFT JOIN t%d b ON b.id = a.next_id", i, i, (i+s.Tables-1)%s.Tables)
}
