package migratetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"
)

// LargeID is above 2^53, as keys of 2026 are.
const LargeID int64 = 1801439850948198400

// LargeTables is how many connected tables a test moves.
func LargeTables(otherwise int) int {
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		return 300
	}
	return otherwise
}

// A Reference is a column that refers to a key, both written as in a statement.
type Reference struct{ Table, Column, KeyTable, Key string }

// ReadReferences reads table, column, table of the key, and key.
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

// WantJoined wants rows above 2^53 through every reference, and each at its parent.
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

// A LargeSchema is one component of many tables, as MusicBrainz has: each refers
// to several others and has its own indexes; views are three deep.
type LargeSchema struct {
	Tables, Views int
	text          strings.Builder
}

func (s *LargeSchema) add(format string, args ...any) { fmt.Fprintf(&s.text, format+";\n", args...) }

// Make returns the statements that create the tables, parents first.
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

// Targets are the tables, for Inspect.
func (s *LargeSchema) Targets() []any {
	targets := make([]any, s.Tables)
	for i := range targets {
		targets[i] = fmt.Sprint("t", i)
	}
	return targets
}

// Rows has one for each table, which refers to others, from a key on.
func (s *LargeSchema) Rows(first int64) string {
	var text strings.Builder
	for i := range int64(s.Tables) {
		next, far := "NULL", "NULL"
		if i > 0 {
			next, far = strconv.FormatInt(first+i-1, 10), strconv.FormatInt(first+i*7/3%i, 10)
		}
		fmt.Fprintf(&text, "INSERT INTO t%[1]d (id, parent_id, next_id, far_id, seen_ids) VALUES (%[2]d, %[2]d, %[3]s, %[4]s, '{1,%[2]d}');\n", i, first+i, next, far)
	}
	for i := range int64(s.Views / 5) {
		fmt.Fprintf(&text, "INSERT INTO p%d VALUES (%d, '2020-02-02'), (%d, '2022-02-02');\n", i, first+i, first+i)
	}
	return text.String()
}

// Removal takes rows away again.
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

// table refers to itself, its neighbour, and to one far off.
func (s *LargeSchema) table(i int) {
	s.add("CREATE TABLE t%d (id serial PRIMARY KEY, parent_id integer, next_id integer, far_id integer, name text NOT NULL DEFAULT 'x', note text[] DEFAULT '{a,b}', seen_ids bigint[], at timestamptz, UNIQUE (name, id))", i)
	s.add("CREATE INDEX ON t%[1]d (parent_id); CREATE INDEX ON t%[1]d (next_id, far_id); CREATE INDEX ON t%[1]d (lower(name)); CREATE INDEX ON t%[1]d (at) WHERE id > 5", i)
	s.add("ALTER TABLE t%[1]d ADD CHECK (name <> ''), ADD CHECK (parent_id > 0), ADD FOREIGN KEY (parent_id) REFERENCES t%[1]d", i)
	if i > 0 {
		s.add("ALTER TABLE t%d ADD FOREIGN KEY (next_id) REFERENCES t%d, ADD FOREIGN KEY (far_id) REFERENCES t%d", i, i-1, i*7/3%i)
	}
}

// view is over two tables, or over two of the views before it.
func (s *LargeSchema) view(i int) {
	if third := s.Views / 3; i >= third && third > 0 {
		s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM v%d a JOIN v%d b ON b.id = a.other_id", i, i-third, (i+third-1)%third)
		return
	}
	s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM t%d a LEFT JOIN t%d b ON b.id = a.next_id", i, i, (i+s.Tables-1)%s.Tables)
}
