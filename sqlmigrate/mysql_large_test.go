package sqlmigrate_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
)

const mysqlLargePlan = 5 * time.Second // for 300 tables

// mysqlLarge is one component: each table refers to two others, one of three has
// a composite key, one of five a generated column and a trigger, and there are
// views three deep.
func mysqlLarge(tables int) (statements, names []string) {
	for i := range tables {
		name := fmt.Sprintf("t%03d", i)
		names = append(names, name)
		columns := []string{"id int NOT NULL AUTO_INCREMENT", "parent_id int", "other_id int", "n int NOT NULL DEFAULT 3 COMMENT 'it''s'", "name varchar(20) CHARACTER SET latin1"}
		key := "PRIMARY KEY (id)"
		if i%3 == 1 {
			columns, key = append(columns, "tenant int NOT NULL DEFAULT 1"), "PRIMARY KEY (id, tenant), UNIQUE KEY (n, id)"
		}
		if i%5 == 2 {
			columns = append(columns, "label varchar(40) AS (CONCAT(name, ' ', n)) STORED", "twice bigint AS (n * 2) VIRTUAL")
		}
		columns = append(columns, key)
		if i > 0 {
			columns = append(columns,
				fmt.Sprintf("CONSTRAINT fk_p%03d FOREIGN KEY (parent_id) REFERENCES t%03d (id) ON DELETE CASCADE", i, (i-1)/2),
				fmt.Sprintf("CONSTRAINT fk_o%03d FOREIGN KEY (other_id) REFERENCES t%03d (id)", i, i-1))
		}
		statements = append(statements, "CREATE TABLE "+name+" ("+strings.Join(columns, ", ")+")",
			"INSERT INTO "+name+" (id, parent_id, other_id, name) VALUES (1, 1, 1, 'x'), (9, NULL, 1, NULL)", "DELETE FROM "+name+" WHERE id = 9")
		if i%5 == 2 {
			statements = append(statements, "CREATE TRIGGER tr"+name+" BEFORE INSERT ON "+name+" FOR EACH ROW SET NEW.n = NEW.n + 1")
		}
		if i%6 == 0 {
			statements = append(statements, "CREATE VIEW v"+name+" AS SELECT id, parent_id FROM "+name,
				"CREATE VIEW w"+name+" AS SELECT id + 1 AS next FROM v"+name, "CREATE VIEW x"+name+" AS SELECT MAX(next) AS most FROM w"+name)
		}
	}
	return statements, names
}

func TestMySQLLarge(t *testing.T) {
	t.Parallel()
	tables := 40
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		tables = 300
	}
	statements, names := mysqlLarge(tables)
	db := mysqlOpen(t, statements...)
	before := mysqlDump(t, db)
	targets := make([]any, len(names))
	for i, name := range names {
		targets[i] = name
	}
	begun := time.Now()
	plan := mysqlInspect(t, db, targets...)
	took := time.Since(begun)
	t.Logf("Inspect took %v", took.Round(time.Millisecond))
	if took > mysqlLargePlan {
		t.Errorf("Inspect took %v, want %v at most", took, mysqlLargePlan)
	}
	if len(plan.Tables) != tables {
		t.Fatalf("%d tables, want %d", len(plan.Tables), tables)
	}
	begun = time.Now()
	mysqlApply(t, db, plan, sqlmigrate.WithPhases(sqlmigrate.Widen, sqlmigrate.Detach))
	t.Logf("Apply took %v", time.Since(begun).Round(time.Millisecond))
	for i, name := range names { // above 2^53, through every reference
		id := mysqlID + int64(i)
		parent, other := fmt.Sprint(mysqlID+int64((i-1)/2)), fmt.Sprint(id-1)
		if i == 0 {
			parent, other = "NULL", "NULL"
		}
		mysqlExec(t, db, fmt.Sprintf("INSERT INTO %s (id, parent_id, other_id) VALUES (%d, %s, %s)", name, id, parent, other))
	}
	for _, name := range slices.Backward(names) {
		mysqlExec(t, db, fmt.Sprintf("DELETE FROM %s WHERE id > 1", name))
	}
	begun = time.Now()
	mysqlRevert(t, db, plan)
	t.Logf("Revert took %v", time.Since(begun).Round(time.Millisecond))
	if after := mysqlDump(t, db); after != before {
		t.Error("the dump after the way back differs from the first one")
	}
}
