package plugintest

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

// Book has the usual key.
type Book struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Title string   `gorm:"size:50"`
}

// PlainKeyBook has an int64 key.
type PlainKeyBook struct {
	ID    int64  `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// TextKeyBook has a string key.
type TextKeyBook struct {
	ID    string `gorm:"primaryKey;size:20" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// Payment has serial numbers made from its key.
type Payment struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:28;uniqueIndex" snowflake:"serial=PAY"`
	Title  string   `gorm:"size:50"`
}

// Receipt has serial numbers made from fresh IDs, because they are its key.
type Receipt struct {
	Number string   `gorm:"primaryKey;size:28" snowflake:"serial=PAY"`
	ID     types.ID `gorm:"uniqueIndex" snowflake:"id"`
	Title  string   `gorm:"size:50"`
}

var (
	// Payments are rows of Payment.
	Payments = RowKind[Payment]{
		Table: "payments",
		Make:  func(title string, id types.ID) Payment { return Payment{ID: id, Title: title} },
		Key:   func(p *Payment) types.ID { return idOf(p.Number) },
		Check: func(t *testing.T, db *gorm.DB) { checkNumbers[Payment](t, db, true) },
	}
	// Receipts are rows of Receipt.
	Receipts = RowKind[Receipt]{
		Table: "receipts",
		Make:  func(title string, id types.ID) Receipt { return Receipt{ID: id, Title: title} },
		Key: func(r *Receipt) types.ID {
			if idOf(r.Number) < 1<<40 {
				panic("the number is not from a fresh ID: " + r.Number)
			}
			return r.ID
		},
		Check: func(t *testing.T, db *gorm.DB) { checkNumbers[Receipt](t, db, false) },
	}
)

// checkNumbers checks that the serial numbers of all rows are made from their
// keys, or from other IDs.
func checkNumbers[T any](t *testing.T, db *gorm.DB, fromKey bool) {
	t.Helper()
	var rows []struct {
		ID     types.ID
		Number string
	}
	Must(t, db.Session(&gorm.Session{NewDB: true}).Model(new(T)).Find(&rows))
	for _, row := range rows {
		if id := idOf(row.Number); id == 0 || (id == row.ID) != fromKey {
			t.Errorf("row %d has number %q of ID %d", row.ID, row.Number, id)
		}
	}
}
