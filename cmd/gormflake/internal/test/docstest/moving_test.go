package docstest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// autoKey is the definition of a key that the database assigns, by dialect.
var autoKey = map[string]string{
	"sqlite":   "INTEGER PRIMARY KEY AUTOINCREMENT",
	"mysql":    "BIGINT AUTO_INCREMENT PRIMARY KEY",
	"postgres": "BIGSERIAL PRIMARY KEY",
}

// createOrders creates table orders, whose keys the database assigns.
func createOrders(t *testing.T, db *gorm.DB) {
	t.Helper()
	if err := db.Exec("CREATE TABLE orders (id " + autoKey[db.Name()] + ", customer VARCHAR(100))").Error; err != nil {
		t.Fatal(err)
	}
}

// After a new program has inserted an ID, an old program still lets the database assign keys.
// As docs/moving.md warns, SQLite and MySQL then continue from the ID, which is the largest
// key, but a sequence of PostgreSQL does not.
func TestTheDatabaseContinuesFromTheLargestKey(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		createOrders(t, db)
		const largest = 2124189853926044565
		want := types.ID(largest + 1)
		if db.Name() == "postgres" {
			want = 1
		}
		if err := db.Exec("INSERT INTO orders (id, customer) VALUES (?, 'new')", largest).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Exec("INSERT INTO orders (customer) VALUES ('old')").Error; err != nil {
			t.Fatal(err)
		}
		var got types.ID
		if err := db.Raw("SELECT id FROM orders WHERE customer = 'old'").Scan(&got).Error; err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	})
}

// A program can use types.ID, so that keys are strings in JSON, while the database still
// assigns the keys. Without the tag autoIncrement, a create of a row without a key fails.
func TestStringsWhileTheDatabaseAssigns(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		createOrders(t, db)
		type order struct {
			ID       types.ID `gorm:"autoIncrement"`
			Customer string
		}
		type untagged struct {
			ID       types.ID
			Customer string
		}
		orders := []order{{Customer: "Ada"}, {Customer: "Grace"}}
		if err := db.Table("orders").Create(&orders).Error; err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(orders)
		if err != nil || !strings.Contains(string(out), `{"ID":"2","Customer":"Grace"}`) {
			t.Errorf("%s, %v", out, err)
		}
		err = db.Table("orders").Create(&untagged{Customer: "nobody"}).Error
		if err == nil || !strings.Contains(err.Error(), "the row has no key") {
			t.Errorf("error = %v, want one that says that the row has no key", err)
		}
	})
}
