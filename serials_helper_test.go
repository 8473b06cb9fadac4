package gormflake_test

import (
	"reflect"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// payment has serial numbers of its own key.
type payment struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:28;uniqueIndex" snowflake:"serial=PAY"`
	Title  string   `gorm:"size:50"`
}

// receipt has serial numbers of fresh IDs, for they are its key.
type receipt struct {
	Number string   `gorm:"primaryKey;size:28" snowflake:"serial=PAY"`
	ID     types.ID `gorm:"uniqueIndex" snowflake:"id"`
	Title  string   `gorm:"size:50"`
}

var (
	payments = rowKind[payment]{
		name:   "payments",
		make:   func(title string, id types.ID) payment { return payment{ID: id, Title: title} },
		key:    func(p *payment) types.ID { return idOf(p.Number) },
		stored: func(t *testing.T, db *gorm.DB) { checkNumbers[payment](t, db, true) },
	}
	receipts = rowKind[receipt]{
		name: "receipts",
		make: func(title string, id types.ID) receipt { return receipt{ID: id, Title: title} },
		key: func(r *receipt) types.ID {
			if idOf(r.Number) < 1<<40 {
				panic("the number is not from a fresh ID: " + r.Number)
			}
			return r.ID
		},
		stored: func(t *testing.T, db *gorm.DB) { checkNumbers[receipt](t, db, false) },
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
	must(t, db.Session(&gorm.Session{NewDB: true}).Model(new(T)).Find(&rows))
	for _, row := range rows {
		if id := idOf(row.Number); id == 0 || (id == row.ID) != own {
			t.Errorf("row %d has number %q of ID %d", row.ID, row.Number, id)
		}
	}
}

// numbers is the format of a code for the generator of newPlugin.
func numbers(code string) *serial.Format {
	f, err := serial.New(code, snowflake.TwitterLayout())
	if err != nil {
		panic(err)
	}
	return f
}

var jsNumbers = func() *serial.Format {
	f, err := serial.New("PAY", snowflake.JSSafeLayout())
	if err != nil {
		panic(err)
	}
	return f
}()

// idOf is the ID of a payment's number, 0 if that is none.
func idOf(number string) types.ID {
	id, _ := numbers("PAY").Parse(number)
	return id
}

// layoutCounter is a counter with a layout.
type layoutCounter struct {
	counter
	layout snowflake.Layout
}

func (c *layoutCounter) Layout() snowflake.Layout { return c.layout }

func newLayoutCounter() *layoutCounter {
	return &layoutCounter{layout: snowflake.TwitterLayout()}
}

// made is how many IDs the generator made that began after start.
func made(c *counter, start types.ID) int {
	if c.calls == 0 {
		return 0
	}
	return int(c.last - start)
}

// copyOf returns a pointer to a copy of what row points to.
func copyOf(row any) any {
	c := reflect.New(reflect.TypeOf(row).Elem())
	c.Elem().Set(reflect.ValueOf(row).Elem())
	return c.Interface()
}

func deref(row any) any { return reflect.ValueOf(row).Elem().Interface() }

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}
