package sqlmigrate_test

import (
	"fmt"
	"strings"
)

// A largeSchema is one component of many tables, as MusicBrainz has: each refers
// to several others and has its own indexes; views are three deep.
type largeSchema struct {
	tables, views int
	text          strings.Builder
}

func (s *largeSchema) add(format string, args ...any) { fmt.Fprintf(&s.text, format+";\n", args...) }

func (s *largeSchema) make() string {
	for i := range s.tables {
		s.table(i)
	}
	for i := range s.views {
		s.view(i)
	}
	for i := range s.tables / 3 {
		s.add("CREATE FUNCTION f%[1]d(p integer) RETURNS integer LANGUAGE plpgsql AS 'DECLARE x integer; BEGIN SELECT max(id) INTO x FROM t%[1]d; RETURN x + p; END'", i)
	}
	return s.text.String()
}

func (s *largeSchema) targets() []any {
	targets := make([]any, s.tables)
	for i := range targets {
		targets[i] = fmt.Sprint("t", i)
	}
	return targets
}

// table refers to itself, its neighbour, and to one far off.
func (s *largeSchema) table(i int) {
	s.add("CREATE TABLE t%d (id serial PRIMARY KEY, parent_id integer, next_id integer, far_id integer, name text NOT NULL DEFAULT 'x', note text, at timestamptz, UNIQUE (name, id))", i)
	s.add("CREATE INDEX ON t%[1]d (parent_id); CREATE INDEX ON t%[1]d (next_id, far_id); CREATE INDEX ON t%[1]d (lower(name)); CREATE INDEX ON t%[1]d (at) WHERE id > 5", i)
	s.add("ALTER TABLE t%[1]d ADD CHECK (name <> ''), ADD CHECK (parent_id > 0), ADD FOREIGN KEY (parent_id) REFERENCES t%[1]d", i)
	if i > 0 {
		s.add("ALTER TABLE t%d ADD FOREIGN KEY (next_id) REFERENCES t%d, ADD FOREIGN KEY (far_id) REFERENCES t%d", i, i-1, i*7/3%i)
	}
}

// view is over two tables, or over two of the views before it.
func (s *largeSchema) view(i int) {
	if third := s.views / 3; i >= third && third > 0 {
		s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM v%d a JOIN v%d b ON b.id = a.other_id", i, i-third, (i+1)%third)
		return
	}
	s.add("CREATE VIEW v%d AS SELECT a.id, b.id AS other_id, a.name FROM t%d a LEFT JOIN t%d b ON b.id = a.next_id", i, i, (i+1)%s.tables)
}
