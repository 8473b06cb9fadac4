package sqlmigrate_test

import (
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Inspect rejects TiDB, and the statements that docs/engines.md gives for it work in
// place of a plan. After them, TiDB accepts Snowflake keys, and refuses rows without a
// key, keys that are not positive, and rows without a parent.
func TestTiDBByHand(t *testing.T) {
	t.Parallel()
	db := testdb.OpenURL(t, testserver.TiDB(t).URL())
	migratetest.Run(t, db, "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer VARCHAR(64))",
		"CREATE TABLE order_lines (id INT AUTO_INCREMENT PRIMARY KEY, order_id INT NOT NULL, CONSTRAINT fk_order FOREIGN KEY (order_id) REFERENCES orders (id))",
		"INSERT INTO orders (customer) VALUES ('a'), ('b')", "INSERT INTO order_lines (order_id) VALUES (1), (2)")
	_, err := sqlmigrate.Inspect(t.Context(), db, "orders")
	migratetest.WantError(t, err, "): want MySQL or MariaDB: move its tables with its own tools, as docs/engines.md shows")

	widen, detach := statementsOfPage(t)
	migratetest.Run(t, db, widen...)
	migratetest.Run(t, db, "INSERT INTO orders (customer) VALUES ('c')") // by an old program
	err = db.Connection(func(one *gorm.DB) error {
		migratetest.Run(t, one, detach...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Run(t, db, "INSERT INTO orders VALUES (2124189853926044565, 'd')", "INSERT INTO order_lines (order_id) VALUES (2124189853926044565)")
	for statement, want := range map[string]string{
		"INSERT INTO orders (customer) VALUES ('no key')": "Error 1364", // no default
		"INSERT INTO orders VALUES (0, 'no key')":         "Error 3819", // a CHECK
		"INSERT INTO orders VALUES (-1, 'no key')":        "Error 3819",
		"INSERT INTO order_lines VALUES (5, 77)":          "Error 1452", // a foreign key
	} {
		migratetest.WantError(t, db.Exec(statement).Error, want)
	}
	var orders []int64
	if err := db.Raw("SELECT id FROM orders ORDER BY id").Scan(&orders).Error; err != nil || len(orders) != 4 || orders[1] != 2 {
		t.Errorf("the orders are %v, %v, want all four", orders, err)
	}
}

// statementsOfPage returns the statements of docs/engines.md before and after the
// programs are stopped.
func statementsOfPage(t *testing.T) (widen, detach []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```sql\nALTER TABLE order_lines DROP")
	block, _, _ = strings.Cut("ALTER TABLE order_lines DROP"+block, "```")
	before, after, found := strings.Cut(block, "-- Stop")
	if !found {
		t.Fatalf("docs/engines.md does not name when to stop the old programs:\n%s", block)
	}
	_, after, _ = strings.Cut(after, "\n")
	return strings.Split(strings.TrimSpace(before), "\n"), strings.Split(strings.TrimSpace(after), "\n")
}
