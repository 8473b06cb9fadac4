package plugintest

import (
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type benchOrder struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string
	Lines    []benchLine `gorm:"foreignKey:OrderID"`
}

type benchLine struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
	SKU     string
}

func newBenchOrders() []benchOrder {
	orders := make([]benchOrder, 1000)
	for i := range orders {
		orders[i].Lines = make([]benchLine, 10)
	}
	return orders
}

func clearBenchOrders(orders []benchOrder) {
	for i := range orders {
		orders[i].ID = 0
		clear(orders[i].Lines)
	}
}

// noDatabase is enough for Assign, which runs no statement.
func noDatabase(tb testing.TB, gen gormflake.Generator, opts ...gormflake.Option) *gorm.DB {
	tb.Helper()
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"}, &gorm.Config{
		DryRun: true, DisableAutomaticPing: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Use(gormflake.New(gen, opts...)); err != nil {
		tb.Fatal(err)
	}
	return db
}

func BenchmarkAssign(b *testing.B) {
	b.Run("values", func(b *testing.B) {
		db := noDatabase(b, newAssignGenerator())
		orders := newBenchOrders()
		benchmarkAssign(b, db, 11_000, &orders, func() { clearBenchOrders(orders) })
	})
	b.Run("pointers and back pointers", func(b *testing.B) {
		db := noDatabase(b, newAssignGenerator())
		orders := make([]*assignOrder, 1000)
		for i := range orders {
			orders[i] = &assignOrder{}
			for range 10 {
				orders[i].Lines = append(orders[i].Lines, &assignLine{Order: orders[i]})
			}
		}
		benchmarkAssign(b, db, 11_000, orders, func() {
			for _, o := range orders {
				o.ID = 0
				for _, l := range o.Lines {
					l.ID, l.OrderID = 0, 0
				}
			}
		})
	})
	b.Run("one order", func(b *testing.B) {
		db := noDatabase(b, newAssignGenerator())
		orders := newBenchOrders()[:1]
		benchmarkAssign(b, db, 11, &orders[0], func() { clearBenchOrders(orders) })
	})
}

func benchmarkAssign(b *testing.B, db *gorm.DB, rows int, tree any, unset func()) {
	b.ReportAllocs()
	for b.Loop() {
		unset()
		if err := gormflake.Assign(db, tree); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
