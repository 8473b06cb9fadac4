package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"runtime"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
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

const createRows = 1000

// A matchup is one database in memory with and without the plugin.
type matchup struct {
	name          string
	pairs         int
	plugin, plain *gorm.DB
	gen           *snowflake.Generator
	parcels       []parcel
}

// plugin measures what the plugin adds to a create of 1,000 rows whose keys
// the program has set beforehand. The difference is a few nanoseconds per row in
// some microseconds, so each create is divided by the one next to it, which met
// the same machine, and the median of those ratios counts. Each is rolled back,
// outside the window, for the table to stay the same.
//
// The driver mattn is the stricter test: with modernc a statement of so many
// parameters is mostly spent on looking them up. Both are far slower than the
// building of the statement, which DryRun shows alone.
func plugin() (experiment, error) {
	gen, err := snowflake.New(snowflake.Static(0, 2), snowflake.WithLayout(wide()))
	if err != nil {
		return experiment{}, err
	}
	matchups, err := matchups(gen)
	if err != nil {
		return experiment{}, err
	}
	return experiment{
		name:   "plugin",
		run:    func(e effort) (sample, error) { return playAll(matchups, e) },
		report: func(s series) report { return reportPlugin(matchups, s) },
	}, nil
}

func matchups(gen *snowflake.Generator) ([]*matchup, error) {
	modernc, err := newMatchup("SQLite in memory, modernc", "sqlite", 40, gen)
	if err != nil {
		return nil, err
	}
	all := []*matchup{modernc}
	if cgo {
		mattn, err := newMatchup("SQLite in memory, mattn", sqlite.DriverName, 200, gen)
		if err != nil {
			return nil, err
		}
		all = append(all, mattn)
	}
	return append(all, modernc.dryRun()), nil
}

func newMatchup(name, driver string, pairs int, gen *snowflake.Generator) (*matchup, error) {
	pool, err := sql.Open(driver, ":memory:")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	pool.SetMaxOpenConns(1) // each connection would have a database of its own
	m := &matchup{name: name, pairs: pairs, gen: gen, parcels: make([]parcel, createRows)}
	for i := range m.parcels {
		m.parcels[i] = parcel{Sender: "a sender", Receiver: "a receiver", Grams: int64(i), Price: 4.5, Express: i%2 == 0}
	}
	for _, db := range []**gorm.DB{&m.plugin, &m.plain} {
		if *db, err = gorm.Open(sqlite.Dialector{Conn: pool}, &gorm.Config{Logger: logger.Discard}); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := m.plugin.Use(gormflake.New(gen)); err != nil {
		return nil, err
	}
	return m, m.plain.AutoMigrate(&parcel{})
}

// dryRun builds the statement only: it compares the plugin with GORM itself.
func (m *matchup) dryRun() *matchup {
	dry := *m
	dry.name, dry.pairs = "DryRun, no database", 300
	dry.plugin = m.plugin.Session(&gorm.Session{DryRun: true})
	dry.plain = m.plain.Session(&gorm.Session{DryRun: true})
	return &dry
}

func playAll(matchups []*matchup, e effort) (sample, error) {
	s := sample{}
	for _, m := range matchups {
		if err := m.play(e.windows(m.pairs), s); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	last := matchups[len(matchups)-1]
	var err error
	s[allocs], err = last.allocsPerRow()
	return s, err
}

func (m *matchup) withPlugin() string { return m.name + ", plugin" }
func (m *matchup) handSet() string    { return m.name + ", hand-set keys" }
func (m *matchup) cost() string       { return m.name + ", ratio" }

func (m *matchup) play(pairs int, s sample) error {
	times, err := collect([]window{
		{m.withPlugin(), func() (float64, error) { return m.create(m.plugin, m.clearKeys) }},
		{m.handSet(), func() (float64, error) { return m.create(m.plain, m.setKeys) }},
	}, pairs)
	if err != nil {
		return err
	}
	s[m.withPlugin()] = stats.Median(times[m.withPlugin()])
	s[m.handSet()] = stats.Median(times[m.handSet()])
	s[m.cost()] = stats.Median(stats.Ratios(times[m.withPlugin()], times[m.handSet()]))
	return nil
}

// create returns nanoseconds per row. The garbage of the creates before is
// collected first: collections that begin automatically fall into step with the
// windows, and would be charged to one contender.
func (m *matchup) create(db *gorm.DB, prepare func() error) (float64, error) {
	if err := prepare(); err != nil {
		return 0, err
	}
	runtime.GC()
	if db.DryRun {
		return timed(createRows, func() error { return db.Create(&m.parcels).Error })
	}
	tx := db.Begin()
	ns, err := timed(createRows, func() error { return tx.Create(&m.parcels).Error })
	if err != nil {
		return 0, err
	}
	return ns, tx.Rollback().Error
}

func (m *matchup) clearKeys() error {
	for i := range m.parcels {
		m.parcels[i].ID = 0
	}
	return nil
}

// setKeys uses real ones: SQLite stores small numbers in fewer bytes.
func (m *matchup) setKeys() error {
	ids := make([]types.ID, len(m.parcels))
	if err := m.gen.Fill(context.Background(), ids); err != nil {
		return err
	}
	for i := range m.parcels {
		m.parcels[i].ID = ids[i]
	}
	return nil
}

// allocsPerRow is what a create with the plugin allocates more than one
// without it, for each row: rounded, since a statement's buffer may be one.
func (m *matchup) allocsPerRow() (float64, error) {
	with, err := allocations(20, func() error {
		_, err := m.create(m.plugin, m.clearKeys)
		return err
	})
	if err != nil {
		return 0, err
	}
	without, err := allocations(20, func() error {
		_, err := m.create(m.plain, func() error { return nil })
		return err
	})
	return math.Round((with-without)/createRows*100) / 100, err
}

func reportPlugin(matchups []*matchup, s series) report {
	var r report
	t := table{title: "Create of 1,000 rows, ns per row", header: []string{"", "plugin", "hand-set keys", "ratio"}}
	for _, m := range matchups {
		f := versus("plugin, per row of 1,000: "+m.name, s, m.withPlugin(), m.handSet(), atMost(1.01, "×"))
		f.ratio = s[m.cost()]
		if !m.plain.DryRun {
			r.figures = append(r.figures, f)
		}
		t.rows = append(t.rows, []string{m.name, median(f.ours, ""), median(f.reference, ""), fmt.Sprintf("%.4f", stats.Median(f.ratio))})
	}
	r.figures = append(r.figures, plain("plugin, allocations per row", s[allocs], atMost(0, "")))
	r.tables = []table{t}
	return r
}
