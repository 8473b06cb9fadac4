package plugintest

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/race"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type parcel struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}

type plainParcel struct {
	ID     types.ID `gorm:"primaryKey"`
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}

// block generates IDs as cheaply as possible, so that only the plugin is measured.
type block struct{ last atomic.Int64 }

func (b *block) Fill(_ context.Context, dst []types.ID) error {
	end := b.last.Add(int64(len(dst)))
	for i := range dst {
		dst[i] = types.ID(end - int64(len(dst)-i) + 1)
	}
	return nil
}

// The plugin allocates nothing, neither per row nor per statement. The test is
// not parallel because others' allocations would count.
func TestNoAllocations(t *testing.T) { //nolint:paralleltest // see above
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	ids := &block{}
	plain, filled := Dry(t, nil), Dry(t, gormflake.New(ids))
	for _, n := range []int{1, 1000} {
		byHand, byPlugin := make([]parcel, n), make([]parcel, n)
		want := testing.AllocsPerRun(20, func() { setByHand(byHand, ids); Must(t, plain.Create(&byHand)) })
		got := testing.AllocsPerRun(20, func() { clear(byPlugin); Must(t, filled.Create(&byPlugin)) })
		if got > want {
			t.Errorf("%d rows: %v allocations, with keys set by hand %v", n, got, want)
		}
		if byPlugin[n-1].ID == 0 {
			t.Error("the keys were not filled")
		}
	}
}

// A serial number costs one allocation, for its text.
func TestSerialAllocations(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	const n = 1000
	db := Dry(t, gormflake.New(&LayoutCounter{layout: snowflake.TwitterLayout()}))
	byHand, byPlugin := make([]Payment, n), make([]Payment, n)
	want := testing.AllocsPerRun(20, func() {
		for i := range byHand {
			byHand[i] = Payment{ID: types.ID(i + 1), Number: "PAY2022062816074010511260000"}
		}
		Must(t, db.Create(&byHand))
	})
	got := testing.AllocsPerRun(20, func() { clear(byPlugin); Must(t, db.Create(&byPlugin)) })
	if got > want+n {
		t.Errorf("%d rows: %v allocations, with serial numbers set by hand %v, want at most one more for each row", n, got, want)
	}
}

// Pointers back to the parent are no second parents that rows would have to be
// compared for.
func TestBackPointersCostNothing(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	db := Dry(t, gormflake.New(&block{}))
	allocations := func(back bool) float64 {
		order := &assignOrder{Lines: make([]*assignLine, 100)}
		for i := range order.Lines {
			order.Lines[i] = &assignLine{}
			if back && i%2 > 0 {
				order.Lines[i].Order = order
			}
		}
		return testing.AllocsPerRun(20, func() { assignOrFail(t, db, order) })
	}
	if with, without := allocations(true), allocations(false); with > without {
		t.Errorf("%v allocations with pointers back, %v without", with, without)
	}
}

// Rows of one slice lie one after another, and are not compared.
func TestRowsOfASliceCostNothing(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	db := Dry(t, gormflake.New(&block{}))
	allocations := func(lines int) float64 {
		orders := make([]benchOrder, 1)
		orders[0].Lines = make([]benchLine, lines)
		return testing.AllocsPerRun(20, func() { assignOrFail(t, db, orders) })
	}
	if many, one := allocations(100), allocations(1); many > one {
		t.Errorf("%v allocations for 100 lines, %v for one", many, one)
	}
}

func setByHand(rows []parcel, ids *block) {
	last := ids.last.Add(int64(len(rows)))
	for i := range rows {
		rows[i].ID = types.ID(last - int64(i))
	}
}

// BenchmarkCreate compares creates with keys set by hand, keys filled by the
// plugin, and a model without tag under the plugin.
func BenchmarkCreate(b *testing.B) {
	for _, target := range []struct {
		name string
		open func(testing.TB, gorm.Plugin) *gorm.DB
	}{{"dry", Dry}, {"sqlite", memory}} {
		for _, n := range []int{1, 100, 1000} {
			ids := &block{}
			b.Run(fmt.Sprintf("%s/rows=%d/hand", target.name, n), func(b *testing.B) {
				rows := make([]parcel, n)
				benchmarkCreate(b, target.open(b, nil), rows, func() { setByHand(rows, ids) })
			})
			b.Run(fmt.Sprintf("%s/rows=%d/plugin", target.name, n), func(b *testing.B) {
				rows := make([]parcel, n)
				benchmarkCreate(b, target.open(b, gormflake.New(ids)), rows, func() { clear(rows) })
			})
			b.Run(fmt.Sprintf("%s/rows=%d/untagged", target.name, n), func(b *testing.B) {
				rows := make([]plainParcel, n)
				benchmarkCreate(b, target.open(b, gormflake.New(ids)), rows, func() {
					last := ids.last.Add(int64(n))
					for i := range rows {
						rows[i].ID = types.ID(last - int64(i))
					}
				})
			})
		}
	}
}

// BenchmarkFill is the callback alone: what the plugin adds to a create.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			db := Dry(b, gormflake.New(&block{}))
			fill := db.Callback().Create().Get("gormflake:fill")
			rows := make([]parcel, n)
			tx := db.Session(&gorm.Session{Initialized: true})
			if err := tx.Statement.Parse(&rows); err != nil {
				b.Fatal(err)
			}
			tx.Statement.Dest, tx.Statement.ReflectValue = &rows, reflect.ValueOf(&rows).Elem()
			b.ReportAllocs()
			for b.Loop() {
				for i := range rows {
					rows[i].ID = 0
				}
				fill(tx)
			}
			Must(b, tx)
			if rows[n-1].ID == 0 {
				b.Fatal("the keys were not filled")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

func benchmarkCreate[T any](b *testing.B, db *gorm.DB, rows []T, reset func()) {
	if db.Migrator() != nil {
		Migrate(b, db, new(T))
	}
	b.ReportAllocs()
	done := 0
	for b.Loop() {
		reset()
		Must(b, db.Create(&rows))
		if done += len(rows); done > 100_000 && !db.DryRun {
			b.StopTimer()
			Must(b, db.Where("1 = 1").Delete(new(T)))
			b.StartTimer()
			done = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}

// memory opens SQLite in memory.
func memory(t testing.TB, p gorm.Plugin) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { pool.Close() })
	if p != nil {
		Use(t, db, p)
	}
	return db
}
