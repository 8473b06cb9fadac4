package plugintest

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

type Book struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Title string   `gorm:"size:50"`
}

type PlainKeyBook struct {
	ID    int64  `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

type TextKeyBook struct {
	ID    string `gorm:"primaryKey;size:20" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// payment has serial numbers of its own key.
type Payment struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:28;uniqueIndex" snowflake:"serial=PAY"`
	Title  string   `gorm:"size:50"`
}

// receipt has serial numbers of fresh IDs, for they are its key.
type Receipt struct {
	Number string   `gorm:"primaryKey;size:28" snowflake:"serial=PAY"`
	ID     types.ID `gorm:"uniqueIndex" snowflake:"id"`
	Title  string   `gorm:"size:50"`
}

var (
	Payments = RowKind[Payment]{
		Table: "payments",
		Make:  func(title string, id types.ID) Payment { return Payment{ID: id, Title: title} },
		Key:   func(p *Payment) types.ID { return idOf(p.Number) },
		Check: func(t *testing.T, db *gorm.DB) { checkNumbers[Payment](t, db, true) },
	}
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

// checkNumbers reads all rows: their serial numbers are those of their keys, or
// of other IDs.
func checkNumbers[T any](t *testing.T, db *gorm.DB, own bool) {
	t.Helper()
	var rows []struct {
		ID     types.ID
		Number string
	}
	Must(t, db.Session(&gorm.Session{NewDB: true}).Model(new(T)).Find(&rows))
	for _, row := range rows {
		if id := idOf(row.Number); id == 0 || (id == row.ID) != own {
			t.Errorf("row %d has number %q of ID %d", row.ID, row.Number, id)
		}
	}
}
