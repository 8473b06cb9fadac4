package fill_test

import (
	"fmt"
	"reflect"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// plainParcel has no tag, so the plugin does not fill it.
type plainParcel struct {
	ID     types.ID `gorm:"primaryKey"`
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}

// byHandParcel has the fields of listedParcel, and keys that the test sets.
type byHandParcel struct {
	ID     uint `gorm:"autoIncrement:false"`
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}

// listedParcel gets its keys by WithModels.
type listedParcel struct {
	ID     uint
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}

// TestNoAllocationsWithModels checks that the plugin does not allocate for models of
// WithModels, which have no tag.
func TestNoAllocationsWithModels(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	plain, filled := plugintest.Dry(t, nil), plugintest.Dry(t, gormflake.New(&plugintest.Block{}, gormflake.WithModels(&listedParcel{})))
	for _, n := range []int{1, 1000} {
		byHand, byPlugin := make([]byHandParcel, n), make([]listedParcel, n)
		want := testing.AllocsPerRun(20, func() { numberByHand(byHand); plugintest.Must(t, plain.Create(&byHand)) })
		got := testing.AllocsPerRun(20, func() { clear(byPlugin); plugintest.Must(t, filled.Create(&byPlugin)) })
		if got > want || byPlugin[n-1].ID == 0 {
			t.Errorf("%d rows: %v allocations, with keys set by hand %v; the last key is %d", n, got, want, byPlugin[n-1].ID)
		}
	}
}

// numberByHand sets the keys 1, 2 and so on, without the plugin.
func numberByHand(rows []byHandParcel) {
	for i := range rows {
		rows[i].ID = uint(i) + 1
	}
}

// TestNoAllocations checks that the plugin does not allocate, neither per row nor per
// statement. The test is not parallel, because it would count the allocations of other
// tests.
func TestNoAllocations(t *testing.T) { //nolint:paralleltest // see above
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	ids := &plugintest.Block{}
	plain, filled := plugintest.Dry(t, nil), plugintest.Dry(t, gormflake.New(ids))
	for _, n := range []int{1, 1000} {
		byHand, byPlugin := make([]plugintest.Parcel, n), make([]plugintest.Parcel, n)
		want := testing.AllocsPerRun(20, func() { setByHand(byHand, ids); plugintest.Must(t, plain.Create(&byHand)) })
		got := testing.AllocsPerRun(20, func() { clear(byPlugin); plugintest.Must(t, filled.Create(&byPlugin)) })
		if got > want {
			t.Errorf("%d rows: %v allocations, with keys set by hand %v", n, got, want)
		}
		if byPlugin[n-1].ID == 0 {
			t.Error("the keys were not filled")
		}
	}
}

// TestSerialAllocations checks that a serial number costs one allocation, for its text,
// and a statement a few more, because the plugin notes the keys from which the numbers
// are made.
func TestSerialAllocations(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	const n = 1000
	db := plugintest.Dry(t, gormflake.New(&plugintest.LayoutCounter{IDLayout: snowflake.TwitterLayout()}))
	byHand, byPlugin := make([]plugintest.Payment, n), make([]plugintest.Payment, n)
	want := testing.AllocsPerRun(20, func() {
		for i := range byHand {
			byHand[i] = plugintest.Payment{ID: types.ID(i + 1), Number: "PAY2022062816074010511260000"}
		}
		plugintest.Must(t, db.Create(&byHand))
	})
	got := testing.AllocsPerRun(20, func() { clear(byPlugin); plugintest.Must(t, db.Create(&byPlugin)) })
	if got > want+n+8 { // one for each row, and a few for the statement
		t.Errorf("%d rows: %v allocations, with serial numbers set by hand %v, want at most one more for each row", n, got, want)
	}
}

// TestBackPointersCostNothing checks that pointers back to the parent cost no
// allocations, because Assign does not treat them as second parents.
func TestBackPointersCostNothing(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	db := plugintest.Dry(t, gormflake.New(&plugintest.Block{}))
	allocations := func(back bool) float64 {
		order := &plugintest.AssignOrder{Lines: make([]*plugintest.AssignLine, 100)}
		for i := range order.Lines {
			order.Lines[i] = &plugintest.AssignLine{}
			if back && i%2 > 0 { // half of the lines point back
				order.Lines[i].Order = order
			}
		}
		return testing.AllocsPerRun(20, func() { plugintest.AssignOrFail(t, db, order) })
	}
	if with, without := allocations(true), allocations(false); with > without {
		t.Errorf("%v allocations with pointers back, %v without", with, without)
	}
}

// TestRowsOfASliceCostNothing checks that more rows in a slice cost no more allocations.
// Assign notes the address ranges of rows, to find a row that it reaches twice, and the
// rows of a slice are one range.
func TestRowsOfASliceCostNothing(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	db := plugintest.Dry(t, gormflake.New(&plugintest.Block{}))
	allocations := func(lines int) float64 {
		orders := make([]plugintest.BenchOrder, 1)
		orders[0].Lines = make([]plugintest.BenchLine, lines)
		return testing.AllocsPerRun(20, func() { plugintest.AssignOrFail(t, db, orders) })
	}
	if many, one := allocations(100), allocations(1); many > one {
		t.Errorf("%v allocations for 100 lines, %v for one", many, one)
	}
}

// setByHand sets the keys without the plugin.
func setByHand(rows []plugintest.Parcel, ids *plugintest.Block) {
	last := ids.Last.Add(int64(len(rows)))
	for i := range rows {
		rows[i].ID = types.ID(last - int64(i))
	}
}

// BenchmarkCreate compares creates with keys set by hand, with keys filled by the plugin,
// and of a model without a tag under the plugin.
func BenchmarkCreate(b *testing.B) {
	for _, target := range []struct {
		name string
		open func(testing.TB, gorm.Plugin) *gorm.DB
	}{{"dry", plugintest.Dry}, {"sqlite", plugintest.Memory}} {
		for _, n := range []int{1, 100, 1000} {
			ids := &plugintest.Block{}
			b.Run(fmt.Sprintf("%s/rows=%d/hand", target.name, n), func(b *testing.B) {
				rows := make([]plugintest.Parcel, n)
				benchmarkCreate(b, target.open(b, nil), rows, func() { setByHand(rows, ids) })
			})
			b.Run(fmt.Sprintf("%s/rows=%d/plugin", target.name, n), func(b *testing.B) {
				rows := make([]plugintest.Parcel, n)
				benchmarkCreate(b, target.open(b, gormflake.New(ids)), rows, func() { clear(rows) })
			})
			b.Run(fmt.Sprintf("%s/rows=%d/uint by hand", target.name, n), func(b *testing.B) {
				rows := make([]byHandParcel, n)
				last := uint(0)
				benchmarkCreate(b, target.open(b, nil), rows, func() {
					for i := range rows {
						last++
						rows[i].ID = last
					}
				})
			})
			b.Run(fmt.Sprintf("%s/rows=%d/listed", target.name, n), func(b *testing.B) {
				rows := make([]listedParcel, n)
				benchmarkCreate(b, target.open(b, gormflake.New(ids, gormflake.WithModels(&listedParcel{}))), rows, func() { clear(rows) })
			})
			b.Run(fmt.Sprintf("%s/rows=%d/untagged", target.name, n), func(b *testing.B) {
				rows := make([]plainParcel, n)
				benchmarkCreate(b, target.open(b, gormflake.New(ids)), rows, func() {
					last := ids.Last.Add(int64(n))
					for i := range rows {
						rows[i].ID = types.ID(last - int64(i))
					}
				})
			})
		}
	}
}

// BenchmarkFill measures the callback alone, which is the cost that the plugin adds to a
// create.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			db := plugintest.Dry(b, gormflake.New(&plugintest.Block{}))
			fill := db.Callback().Create().Get("gormflake:fill")
			rows := make([]plugintest.Parcel, n)
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
			plugintest.Must(b, tx)
			if rows[n-1].ID == 0 {
				b.Fatal("the keys were not filled")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

// benchmarkCreate measures creates of rows, before each of which reset prepares their
// keys. It empties the table from time to time, without measuring that.
func benchmarkCreate[T any](b *testing.B, db *gorm.DB, rows []T, reset func()) {
	if db.Migrator() != nil {
		plugintest.Migrate(b, db, new(T))
	}
	b.ReportAllocs()
	done := 0
	for b.Loop() {
		reset()
		plugintest.Must(b, db.Create(&rows))
		if done += len(rows); done > 100_000 && !db.DryRun {
			b.StopTimer()
			plugintest.Must(b, db.Where("1 = 1").Delete(new(T)))
			b.StartTimer()
			done = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}
