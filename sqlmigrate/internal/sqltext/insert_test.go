package sqltext_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// Inserts must find each INSERT, REPLACE and MERGE of a body in the syntax of any
// database, because a statement without a key would fail after a move. The keys of the map
// are bodies of triggers. The values name the table into which the statement writes, and
// say whether the statement gives a value to column id. They are empty if the body inserts
// no row.
func TestInserts(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"BEGIN INSERT INTO log(o_id) VALUES (NEW.id); RETURN NEW; END":                             "log false",
		"INSERT INTO log VALUES (DEFAULT, NEW.id)":                                                 "log false",
		"INSERT INTO log VALUES (NEW.id, 'x')":                                                     "log true",
		"INSERT INTO log DEFAULT VALUES":                                                           "log false",
		"insert into shop.\"Log\" as l (what, ID) values ('a', f(1, 2))":                           "shop.Log true",
		"INSERT IGNORE INTO `log` SET what = f(1, id = 2), o_id = 3":                               "log false",
		"INSERT log SET id = 4":                                                                    "log true",
		"REPLACE INTO log (what) SELECT id FROM o":                                                 "log false",
		"INSERT INTO log (id, what) VALUES (NULL, 1), (2, 3)":                                      "log false",
		"INSERT INTO log SELECT NEW.id, 'x'":                                                       "log true",
		"INSERT INTO log (SELECT 1)":                                                               "log true",
		"INSERT OR REPLACE INTO log (what) VALUES (1)":                                             "log false",
		"INSERT INTO log PARTITION (p0) (what) VALUES (1)":                                         "log false",
		"EXECUTE 'INSERT INTO log(o_id) VALUES ($1)' USING NEW.id":                                 "log false",
		"MERGE INTO log USING s ON log.id = s.id WHEN NOT MATCHED THEN INSERT (what) VALUES (s.x)": "log false",
		"CREATE TRIGGER t AFTER INSERT ON o BEGIN INSERT INTO log(id) VALUES (1); END":             "log true",
		"CREATE RULE r AS ON INSERT TO o DO INSERT INTO log (o_id) VALUES (new.id)":                "log false",
		"IF TG_OP = 'INSERT' THEN SELECT INSERT('abc', 1, 2, 'x'); END IF":                         "",
		"-- INSERT INTO log (a) VALUES (1)\nSELECT 1":                                              "",
	} {
		var got []string
		for _, in := range sqltext.Inserts(body, sqltext.Rules{Backticks: true}) {
			got = append(got, fmt.Sprint(strings.TrimPrefix(in.Schema+"."+in.Table, "."), " ", in.Gives("id")))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\n got %q\nwant %q", body, got, want)
		}
	}
}

// Updates must find each UPDATE of a body, because an UPDATE may copy a key into a narrow
// column. The keys of the map are bodies of triggers. The values have the table of each
// UPDATE, and the columns that the UPDATE sets to NEW.id. They are empty if the body has no
// UPDATE statement.
func TestUpdates(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"UPDATE lg SET what = NEW.id":                                               "lg [what]",
		"BEGIN UPDATE lg SET n = n + 1, what = NEW.id WHERE n = 2; END":             "lg [what]",
		"UPDATE LOW_PRIORITY shop.`lg` AS l SET l.n = 1, l.what = NEW.id LIMIT 1":   "shop.lg [what]",
		"UPDATE lg SET what = f(NEW.id, n = 2)":                                     "lg []",
		"UPDATE lg SET what = 1 WHERE id = NEW.id":                                  "lg []",
		"UPDATE a SET x = NEW.id; UPDATE b SET y = NEW.id":                          "a [x], b [y]",
		"INSERT INTO lg (n) VALUES (1) ON DUPLICATE KEY UPDATE what = NEW.id":       "",
		"SELECT n INTO x FROM lg WHERE id = NEW.id FOR UPDATE":                      "",
		"CREATE TRIGGER t AFTER UPDATE ON o BEGIN UPDATE lg SET what = NEW.id; END": "lg [what]",
	} {
		var got []string
		for _, up := range sqltext.Updates(body, sqltext.Rules{Backticks: true}) {
			columns, _ := up.Targets("id")
			got = append(got, fmt.Sprint(strings.TrimPrefix(up.Schema+"."+up.Table, "."), " ", slices.Clip(columns)))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\n got %q\nwant %q", body, got, want)
		}
	}
}

// Targets finds the columns that get a copy of a key. The keys of the map are bodies of
// triggers. The values are the columns to which the INSERT assigns NEW.id, and their
// positions if it names no columns. A value that is computed from NEW.id does not count.
func TestTargets(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"INSERT INTO lg(a, what) VALUES (1, NEW.id)": "[what] []",
		"INSERT INTO lg VALUES (1, NEW.id)":          "[] [1]",
		"INSERT INTO lg SET what = NEW.id":           "[what] []",
		"INSERT INTO lg(what) VALUES (NEW.id + 1)":   "[] []",
		"INSERT INTO lg(what) VALUES (NEW.other)":    "[] []",
	} {
		found := sqltext.Inserts(body, sqltext.Rules{})
		columns, places := found[0].Targets("id")
		if got := fmt.Sprint(slices.Clip(columns), " ", places); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}
