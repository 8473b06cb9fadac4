package tree_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
)

// newBenchOrders returns 1,000 orders of 10 lines each.
func newBenchOrders() []plugintest.BenchOrder {
	orders := make([]plugintest.BenchOrder, 1000)
	for i := range orders {
		orders[i].Lines = make([]plugintest.BenchLine, 10)
	}
	return orders
}

// clearBenchOrders removes the keys that Assign has set.
func clearBenchOrders(orders []plugintest.BenchOrder) {
	for i := range orders {
		orders[i].ID = 0
		clear(orders[i].Lines)
	}
}

// BenchmarkAssign measures Assign for 11,000 rows in slices, for as many rows behind
// pointers, and for a single order.
func BenchmarkAssign(b *testing.B) {
	b.Run("values", func(b *testing.B) {
		db := plugintest.NoDatabase(b, plugintest.NewAssignGenerator())
		orders := newBenchOrders()
		benchmarkAssign(b, db, 11_000, &orders, func() { clearBenchOrders(orders) })
	})
	b.Run("pointers and back pointers", func(b *testing.B) {
		db := plugintest.NoDatabase(b, plugintest.NewAssignGenerator())
		orders := make([]*plugintest.AssignOrder, 1000)
		for i := range orders {
			orders[i] = &plugintest.AssignOrder{}
			for range 10 {
				orders[i].Lines = append(orders[i].Lines, &plugintest.AssignLine{Order: orders[i]})
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
		db := plugintest.NoDatabase(b, plugintest.NewAssignGenerator())
		orders := newBenchOrders()[:1]
		benchmarkAssign(b, db, 11, &orders[0], func() { clearBenchOrders(orders) })
	})
}

// benchmarkAssign measures Assign for a tree of this number of rows, whose keys unset
// removes.
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
