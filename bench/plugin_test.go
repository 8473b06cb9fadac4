package bench_test

import (
	"context"
	"database/sql"
	"runtime"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// parcel is a row of ordinary width.
type parcel struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Sender   string
	Receiver string
	Grams    int64
	Price    float64
	Express  bool
}

// listedParcel has no tag, and a key as GORM's models have. The plugin fills this key,
// because WithModels lists the model.
type listedParcel struct {
	ID       uint
	Sender   string
	Receiver string
	Grams    int64
	Price    float64
	Express  bool
}

// byHandParcel is listedParcel as a program without the plugin would declare it to set the
// keys itself.
type byHandParcel struct {
	ID       uint `gorm:"autoIncrement:false"`
	Sender   string
	Receiver string
	Grams    int64
	Price    float64
	Express  bool
}

func (byHandParcel) TableName() string { return "listed_parcels" }

// hookedParcel has a hook, as models that check their rows have.
type hookedParcel parcel

// BeforeCreate accepts every row.
func (*hookedParcel) BeforeCreate(*gorm.DB) error { return nil }

// tagged, hooked, listed and byHand convert a parcel to each of the models.
func tagged(p parcel) parcel { return p }

func hooked(p parcel) hookedParcel { return hookedParcel(p) }

func listed(p parcel) listedParcel {
	return listedParcel{uint(p.ID.Int64()), p.Sender, p.Receiver, p.Grams, p.Price, p.Express}
}

func byHand(p parcel) byHandParcel { return byHandParcel(listed(p)) }

// createRows is the number of rows of each create.
const createRows = 1000

// BenchmarkPlugin measures the time per row that the plugin adds to a create of 1,000 rows,
// in SQLite in memory. The peer plugin creates rows without keys, which the plugin sets. The
// peer hand creates rows whose keys the program has set, on a handle without the plugin. The
// benchmark measures a plain create, a create whose model has a hook, and an upsert. The
// difference is a few nanoseconds in some microseconds. Therefore each create is divided by
// the create next to it, which ran under the same load of the machine. x/hand is the median
// of these ratios.
//
// The driver mattn, which needs cgo, is the stricter test, because with modernc most of
// the time of a statement with so many parameters is spent on looking them up. Both drivers
// take far longer than GORM takes to build the statement, which DryRun shows alone.
func BenchmarkPlugin(b *testing.B) {
	gen := generator(b, 3, snowflake.WithLayout(wide()))
	for _, m := range []struct {
		name, driver string
		pairs        int
		dry          bool
	}{{"modernc", "sqlite", 40, false}, {"mattn", sqlite.DriverName, 200, false}, {"none", "sqlite", 300, true}} {
		b.Run("db="+m.name+"/key=tagged", func(b *testing.B) {
			newMatchup(b, m.driver, gen, m.dry, tagged, tagged).compare(b, m.pairs)
		})
		b.Run("db="+m.name+"/key=listed", func(b *testing.B) {
			newMatchup(b, m.driver, gen, m.dry, listed, byHand).compare(b, m.pairs)
		})
		b.Run("db="+m.name+"/key=tagged/hook", func(b *testing.B) {
			newMatchup(b, m.driver, gen, m.dry, hooked, hooked).compare(b, m.pairs)
		})
		b.Run("db="+m.name+"/key=tagged/upsert", func(b *testing.B) {
			up := newMatchup(b, m.driver, gen, m.dry, tagged, tagged)
			up.clauses = []clause.Expression{clause.OnConflict{UpdateAll: true}}
			up.compare(b, m.pairs)
		})
	}
}

// matchup is a database in memory with two handles, one with the plugin and one without it.
// The plugin sets the keys of the field rows. The program sets the keys of the field byHand.
type matchup struct {
	plugin, plain *gorm.DB
	gen           *snowflake.Generator
	rows, byHand  any                  // pointers to slices
	setRows       func(ids []types.ID) // makes new rows with these keys
	setByHand     func(ids []types.ID)
	clauses       []clause.Expression // of each create
}

// newMatchup opens a database by a driver. row and hand convert a parcel to the model of each
// side. dry makes GORM build the statements without running them.
func newMatchup[R, H any](b *testing.B, driver string, gen *snowflake.Generator, dry bool, row func(parcel) R, hand func(parcel) H) *matchup {
	b.Helper()
	pool, err := sql.Open(driver, ":memory:")
	must(b, err)
	b.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1) // each connection would have a separate database
	m := &matchup{gen: gen}
	m.rows, m.setRows = rowsFrom(row)
	m.byHand, m.setByHand = rowsFrom(hand)
	for _, db := range []**gorm.DB{&m.plugin, &m.plain} {
		*db, err = gorm.Open(sqlite.Dialector{Conn: pool}, &gorm.Config{Logger: logger.Discard})
		if err != nil && driver == sqlite.DriverName {
			b.Skipf("%v: want cgo", err)
		}
		must(b, err)
	}
	must(b, m.plugin.Use(gormflake.New(gen, gormflake.WithModels(new(R)))))
	must(b, m.plugin.AutoMigrate(new(R)))
	m.plugin.DryRun, m.plain.DryRun = dry, dry
	return m
}

// rowsFrom returns a pointer to a slice of rows, and a function that sets their keys.
func rowsFrom[R any](row func(parcel) R) (rows *[]R, set func(ids []types.ID)) {
	list := make([]R, createRows)
	return &list, func(ids []types.ID) {
		for i, id := range ids {
			list[i] = row(parcel{ID: id, Sender: "a sender", Receiver: "a receiver", Grams: int64(i), Price: 4.5, Express: i%2 == 0})
		}
	}
}

// compare reports the times of creates with and without the plugin, their ratio and their
// allocations. pairs is the number of creates of each side.
func (m *matchup) compare(b *testing.B, pairs int) {
	b.Helper()
	compare(b, []string{"plugin", "hand"}, func(b *testing.B) results {
		times := collect([]window{
			{"plugin", func() float64 { return m.create(b, m.plugin, m.rows, m.clearKeys) }},
			{"hand", func() float64 { return m.create(b, m.plain, m.byHand, m.setKeys) }},
		}, rounds(pairs))
		all := quantiles(times, 0.5)
		all["plugin"]["x/hand"] = stats.Median(stats.Ratios(times["plugin"], times["hand"]))
		all["plugin"]["allocs"] = testing.AllocsPerRun(20, func() { m.create(b, m.plugin, m.rows, m.clearKeys) }) / createRows
		all["hand"]["allocs"] = testing.AllocsPerRun(20, func() { m.create(b, m.plain, m.byHand, func() error { return nil }) }) / createRows
		return all
	})
}

// create returns nanoseconds per row. It rolls back outside the window, so that the table
// stays the same. It first collects the garbage of earlier creates, because automatic
// collections would synchronize with the windows, and would be charged to one peer.
func (m *matchup) create(b *testing.B, db *gorm.DB, rows any, prepare func() error) float64 {
	b.Helper()
	must(b, prepare())
	runtime.GC()
	tx := db
	if !db.DryRun {
		tx = db.Begin()
		defer func() { must(b, tx.Rollback().Error) }()
	}
	return nanosPerStep(b, createRows, func() error { return tx.Clauses(m.clauses...).Create(rows).Error })
}

// clearKeys makes the rows new, so that the plugin sets their keys again.
func (m *matchup) clearKeys() error {
	m.setRows(noKeys[:])
	return nil
}

// noKeys are the keys of rows that the plugin has not filled.
var noKeys [createRows]types.ID

// setKeys sets real keys, because SQLite stores small numbers in fewer bytes.
func (m *matchup) setKeys() error {
	ids := make([]types.ID, createRows)
	err := m.gen.Fill(context.Background(), ids)
	m.setByHand(ids)
	return err
}
