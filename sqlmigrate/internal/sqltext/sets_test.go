package sqltext_test

import (
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// A trigger that sets NEW.id assigns keys, and must be told from a trigger that only reads
// NEW.id. The keys of the map are bodies of triggers. The values are true if the body sets
// NEW.id.
func TestSets(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"SET NEW.id = 5":                                      true,
		"SET NEW.n = 1, NEW.`id` = 5":                         true,
		"BEGIN new.ID := nextval('s'); RETURN NEW; END":       true,
		"BEGIN NEW := f(NEW); RETURN NEW; END":                true,
		"BEGIN SELECT a, b INTO NEW.n, NEW.id; END":           true,
		"SET NEW.n = NEW.id":                                  false,
		"BEGIN IF NEW.id = 5 THEN SET NEW.n = 1; END IF; END": false,
		"INSERT INTO log (a) VALUES (NEW.id)":                 false,
		"INSERT INTO log SELECT NEW.id":                       false,
		"INSERT INTO log SET a = NEW.id":                      false,
		"SELECT a FROM t INTO n WHERE b = NEW.id":             false,
		"SELECT a INTO STRICT NEW.id FROM t":                  true,
		"SELECT a, b INTO @x, NEW.id FROM t":                  true,
		"EXECUTE 'SELECT $1' INTO n USING NEW.id":             false,
		"MERGE INTO log USING s ON log.a = NEW.id":            false,
		"-- NEW.id := 5\nSET NEW.n = ':= NEW.id := 5'":        false,
	} {
		if got := sqltext.Sets(body, sqltext.Rules{Backticks: true}, []string{"id"}); got != want {
			t.Errorf("Sets(%q) = %t, want %t", body, got, want)
		}
	}
}
