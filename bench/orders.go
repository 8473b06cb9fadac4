package main

import (
	"net/url"
	"os"
	"path/filepath"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
)

// A till is one database that orders are written to, in ways to be compared.
type till struct {
	name string
	db   *gorm.DB
	ways []way
}

// A way is timed without and with a foreign key that the database checks.
type way struct {
	name   string
	insert insert
}

// An insert prepares orders; what it returns writes them.
type insert func(*gorm.DB) (write func() error, err error)

const (
	oneByOne = "auto-increment, one nested insert per order"
	batched  = "keys by Assign, two batches"
	copied   = "keys by Assign, CopyFrom"
)

// orders measures the main job: 1,000 orders of 10 lines in one transaction,
// from structs without keys to the commit, into tables that were just created.
// The figures are about batches against a round trip for each order; GORM's own
// batches with RETURNING are as fast as ours. They are about tables without a
// foreign key constraint, since checking it costs the same in every way, on
// PostgreSQL as much as all the rest; the tables below show both.
//
// The same databases are used for the time to the first ID.
func orders(dsns []string) ([]experiment, error) {
	gen, err := snowflake.New(snowflake.Static(0, 4))
	if err != nil {
		return nil, err
	}
	var tills []*till
	var all []experiment
	for _, address := range dsns {
		t, err := openTill(address, gen)
		if err != nil {
			return nil, err
		}
		tills = append(tills, t)
		all = append(all, experiment{
			name:   "orders",
			run:    func(e effort) (sample, error) { return interleave(t.windows(), e.windows(5), 0.5) },
			report: t.report,
		})
	}
	return append(all, first(tills)), nil
}

// temporaryFile is the address of an SQLite database that the returned function
// removes.
func temporaryFile() (address string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "gormflake-bench-")
	if err != nil {
		return "", nil, err
	}
	return "sqlite://" + url.PathEscape(filepath.Join(dir, "orders.db")), func() error { return os.RemoveAll(dir) }, nil
}

func openTill(address string, gen *snowflake.Generator) (*till, error) {
	dialector, err := dsn.Open(address)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{
		Logger:         logger.Discard,
		NamingStrategy: schema.NamingStrategy{TablePrefix: "gormflake_bench_"},
	})
	if err != nil {
		return nil, err
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		return nil, err
	}
	t := &till{name: product(db), db: db}
	t.ways = []way{{oneByOne, insertOneByOne}, {batched, insertBatches}}
	if db.Name() == "postgres" {
		t.ways = append(t.ways, way{copied, copyIn})
	}
	return t, nil
}

// product tells MariaDB from MySQL, which GORM calls by one name.
func product(db *gorm.DB) string {
	switch db.Name() {
	case "sqlite":
		return "SQLite file"
	case "postgres":
		return "PostgreSQL"
	}
	var version string
	db.Raw("SELECT version()").Scan(&version)
	return "MySQL/MariaDB " + version
}

func (t *till) windows() []window {
	var all []window
	for _, w := range t.ways {
		all = append(all,
			window{w.name, func() (float64, error) { return t.write(w.insert, false) }},
			window{checked(w.name), func() (float64, error) { return t.write(w.insert, true) }})
	}
	return all
}

func checked(name string) string { return name + ", foreign key checked" }

// write makes the tables anew before, and drops them after the time is taken.
func (t *till) write(insert insert, constrained bool) (ns float64, err error) {
	tables := []any{&order{}, &line{}, &autoOrder{}, &autoLine{}}
	if err := t.db.Migrator().DropTable(tables...); err != nil {
		return 0, err
	}
	t.db.DisableForeignKeyConstraintWhenMigrating = !constrained
	if err := t.db.AutoMigrate(tables...); err != nil {
		return 0, err
	}
	write, err := insert(t.db)
	if err != nil {
		return 0, err
	}
	ns, err = timed(1, write)
	if err != nil {
		return 0, err
	}
	return ns, t.db.Migrator().DropTable(tables...)
}

func (t *till) report(s series) report {
	least := atLeast(4, "×")
	if t.db.Name() == "sqlite" {
		least.bound = 2
	}
	r := report{figures: []figure{
		faster("1,000 orders × 10 lines, two batches: "+t.name, s, batched, oneByOne, least).in("ms", 1e-6),
	}}
	if _, ok := s[copied]; ok {
		r.figures = append(r.figures,
			faster("the same by CopyFrom, against two batches", s, copied, batched, atLeast(2, "×")).in("ms", 1e-6))
	}
	ways := table{title: "1,000 orders × 10 lines, " + t.name, header: []string{"way", "ms", "ms, foreign key checked"}}
	for _, w := range t.ways {
		ways.rows = append(ways.rows, []string{
			w.name, number(stats.Median(s[w.name]) / 1e6), number(stats.Median(s[checked(w.name)]) / 1e6),
		})
	}
	r.tables = []table{ways}
	return r
}
