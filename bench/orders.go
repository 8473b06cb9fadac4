package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
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
	copied   = "keys by Assign, CopyFrom from models"
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

// product distinguishes MariaDB from MySQL, which GORM calls by one name.
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

// write creates the tables again before, and drops them after the time is taken.
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
	least := atLeast(5, "×")
	if t.db.Name() == "sqlite" {
		least.bound = 2
	}
	r := report{figures: []figure{
		faster("1,000 orders × 10 lines, two batches: "+t.name, s, batched, oneByOne, least).in("ms", 1e-6),
	}}
	if _, ok := s[copied]; ok {
		r.figures = append(r.figures,
			faster("the same by CopyFrom from models, against two batches", s, copied, batched, atLeast(2, "×")).in("ms", 1e-6))
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

type order struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string   `gorm:"size:100;not null"`
	Lines    []line   `gorm:"foreignKey:OrderID"`
}

type line struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID  types.ID `gorm:"not null;index"`
	SKU      string   `gorm:"size:40;not null"`
	Quantity int      `gorm:"not null"`
}

// autoOrder and autoLine are the same with keys that the database makes up.
type autoOrder struct {
	ID       int64
	Customer string     `gorm:"size:100;not null"`
	Lines    []autoLine `gorm:"foreignKey:OrderID"`
}

type autoLine struct {
	ID       int64
	OrderID  int64  `gorm:"not null;index"`
	SKU      string `gorm:"size:40;not null"`
	Quantity int    `gorm:"not null"`
}

const (
	orderCount = 1000
	lineCount  = 10
)

func newOrders() []order {
	orders := make([]order, orderCount)
	for i := range orders {
		orders[i] = order{Customer: customer(i), Lines: make([]line, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = line{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

func newAutoOrders() []autoOrder {
	orders := make([]autoOrder, orderCount)
	for i := range orders {
		orders[i] = autoOrder{Customer: customer(i), Lines: make([]autoLine, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = autoLine{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

func customer(i int) string { return fmt.Sprintf("customer %04d", i) }

func sku(i, j int) string { return fmt.Sprintf("SKU-%03d", (i+j)%1000) }

func linesOf(orders []order) []line {
	lines := make([]line, 0, len(orders)*lineCount)
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return lines
}

// rowsPerInsert is near each database's best. More rows cost less each, but
// modernc.org/sqlite looks for each parameter among all of the statement's.
func rowsPerInsert(db *gorm.DB) int {
	if db.Name() == "sqlite" {
		return 100
	}
	return 1000
}

// insertOneByOne makes the orders; what it returns writes them, and is timed.
func insertOneByOne(db *gorm.DB) (func() error, error) {
	orders := newAutoOrders()
	return func() error {
		return db.Transaction(func(tx *gorm.DB) error {
			for i := range orders {
				if err := tx.Create(&orders[i]).Error; err != nil {
					return err
				}
			}
			return nil
		})
	}, nil
}

func insertBatches(db *gorm.DB) (func() error, error) {
	orders, rows := newOrders(), rowsPerInsert(db)
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		return db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Omit("Lines").CreateInBatches(orders, rows).Error; err != nil {
				return err
			}
			return tx.CreateInBatches(linesOf(orders), rows).Error
		})
	}, nil
}

// copyIn uses a connection of GORM's pool as what it is underneath.
func copyIn(db *gorm.DB) (func() error, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	orders, ctx := newOrders(), context.Background()
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(c any) error {
			pg, ok := c.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("CopyFrom wants a connection of pgx, got %T", c)
			}
			return copyOrders(ctx, db, pg.Conn(), orders)
		})
		return errors.Join(err, conn.Close())
	}, nil
}

func copyOrders(ctx context.Context, db *gorm.DB, conn *pgx.Conn, orders []order) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, rows := range []any{orders, linesOf(orders)} {
			src, err := gormflake.CopySource(db.Omit("Lines"), rows)
			if err != nil {
				return err
			}
			if _, err := tx.CopyFrom(ctx, src.Table(), src.Columns(), src); err != nil {
				return err
			}
		}
		return nil
	})
}

// wide has a sequence of 20 bits, a million IDs per millisecond: more than a
// window takes, so that what is measured is the code and not its wait.
func wide() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, 2, 20
	return l
}

const (
	fill1000 = "Fill, 1,000 at a time"
	fill100  = "Fill, 100 at a time"
	nextLoop = "loop over Next"
	bwLoop   = "loop over " + peers.Bwmarrin
)

// batch measures Fill: blocks of IDs right after a millisecond has begun,
// on a layout whose sequence does not limit them, next to loops that make 1,000.
func batch() (experiment, error) {
	gen, err := snowflake.New(snowflake.Static(0, 1), snowflake.WithLayout(wide()))
	if err != nil {
		return experiment{}, err
	}
	node, err := bwmarrin.NewNode(2)
	if err != nil {
		return experiment{}, err
	}
	windows := []window{
		fillWindow(fill1000, gen, 200, 1000),
		fillWindow(fill100, gen, 500, 100),
		nextWindow(gen),
		bwmarrinWindow(node),
	}
	return experiment{
		name:   "fill",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(250), lowQuartile) },
		report: reportBatch,
	}, nil
}

func fillWindow(name string, gen *snowflake.Generator, blocks, n int) window {
	ctx, dst := context.Background(), make([]types.ID, n)
	return window{name, func() (float64, error) {
		atMillisecond()
		return timed(blocks*n, func() error {
			for range blocks {
				if err := gen.Fill(ctx, dst); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func nextWindow(gen *snowflake.Generator) window {
	ctx, dst := context.Background(), make([]types.ID, 1000)
	return window{nextLoop, func() (float64, error) {
		atMillisecond()
		return timed(len(dst), func() (err error) {
			for i := range dst {
				if dst[i], err = gen.Next(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func bwmarrinWindow(node *bwmarrin.Node) window {
	dst := make([]bwmarrin.ID, 1000)
	return window{bwLoop, func() (float64, error) {
		atMillisecond()
		return timed(len(dst), func() error {
			for i := range dst {
				dst[i] = node.Generate()
			}
			return nil
		})
	}}
}

func reportBatch(s series) report {
	return report{
		figures: []figure{
			plain("Fill(1000), wide layout, per ID", s[fill1000], atMost(0.5, "ns")),
			faster("Fill(1000), times faster than a loop", s, fill1000, bwLoop, atLeast(75, "×")),
		},
		tables: []table{perName("Batches, ns/ID", "ns/ID", []string{fill1000, fill100, nextLoop, bwLoop}, s)},
	}
}
