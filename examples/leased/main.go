// Command leased shows how the worker of a process that dies becomes free. Three
// generators share one worker in a SQLite file. The first generator is never closed, as
// if its process were killed. The second generator gets the worker when the window of the
// first has ended.
//
//	go run ./examples/leased
//
// It takes about two seconds. Package leasetest pauses and kills real processes.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// Order is a row that the processes write.
type Order struct {
	gormflake.Model
	Process string
}

func main() {
	if err := run(context.Background(), log.New(os.Stdout, "", 0)); err != nil {
		fmt.Fprintln(os.Stderr, "leased:", err)
		os.Exit(1)
	}
}

// run lets process A lease the worker and die, process B wait for the worker and release it,
// and process C get it at once.
func run(ctx context.Context, out *log.Logger) (err error) {
	dir, err := os.MkdirTemp("", "leased-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demo{out: out, file: filepath.Join(dir, "shop.db"), began: time.Now()}

	a, err := d.start(ctx, "A")
	if err != nil {
		return err
	}
	if err := errors.Join(d.write(ctx, a), d.kill(a)); err != nil {
		return err
	}
	b, err := d.start(ctx, "B")
	if err != nil {
		return err
	}
	if err := errors.Join(d.write(ctx, b), d.wake(ctx, a), d.stop(ctx, b)); err != nil {
		return err
	}
	c, err := d.start(ctx, "C")
	if err != nil {
		return err
	}
	return errors.Join(d.write(ctx, c), d.list(ctx, c), d.stop(ctx, c))
}

// process stands for a process of your program, with its own connections to the database and
// its generator.
type process struct {
	name string
	db   *gorm.DB
	gen  *snowflake.Generator
}

// demo runs the processes on one file, and prints what happens with the time since it began.
type demo struct {
	out   *log.Logger
	file  string // the SQLite file that all processes open
	began time.Time
}

// start opens the database, waits until the worker is free, and leases it.
func (d *demo) start(ctx context.Context, name string) (*process, error) {
	// With these settings processes wait for each other's transactions instead of
	// failing.
	dsn := d.file + "?_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: dsn}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	gen, err := d.open(ctx, name, db)
	if err != nil {
		return nil, err
	}
	d.say("%s has leased the worker", name)
	return &process{name: name, db: db, gen: gen}, db.AutoMigrate(&Order{})
}

// open leases the worker and returns its generator. While another process has the worker,
// gormflake.Open returns an error with the time until the worker may be free. open then waits
// for this time and tries again.
func (d *demo) open(ctx context.Context, name string, db *gorm.DB) (*snowflake.Generator, error) {
	for {
		gen, err := gormflake.Open(ctx, db, gormflake.WithLease(
			lease.WithWindow(2*time.Second),                  // the default is a minute
			lease.WithDatacenter(0), lease.WithWorkers(0, 0), // the default is 1,024 workers
			lease.WithLogger(slog.New(slog.DiscardHandler)),
		))
		var held *lease.NoFreeWorkerError
		if !errors.As(err, &held) { // err is nil, or an error that a wait does not change
			return gen, err
		}
		d.say("%s waits: %v", name, err)
		time.Sleep(held.Wait)
	}
}

// write inserts an order. If its ID existed already, the primary key would reject it.
func (d *demo) write(ctx context.Context, p *process) error {
	order := Order{Process: p.name}
	if err := p.db.WithContext(ctx).Create(&order).Error; err != nil {
		return err
	}
	d.say("%s has written order %d, worker %d", p.name, order.ID, p.gen.Layout().Decompose(order.ID).Worker)
	return nil
}

// kill closes the connections of the process to the database, but not its generator. Its lease
// is therefore neither renewed nor released, as if the process had been killed.
func (d *demo) kill(p *process) error {
	d.say("%s dies: it does not close its generator", p.name)
	return closePool(p.db)
}

// wake asks the generator of process p for an ID after the window of the generator has ended, as
// a process does that was paused. The generator must return ErrFenced, because another process
// has the worker now, and may have issued the same ID.
func (d *demo) wake(ctx context.Context, p *process) error {
	id, err := p.gen.Next(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("%s got ID %d after its window: want %w", p.name, id, snowflake.ErrFenced)
	case !errors.Is(err, snowflake.ErrFenced):
		return err
	}
	d.say("%s wakes up and wants an ID: %v", p.name, err)
	return nil
}

// list reads the orders sorted by their keys, and prints which process wrote each order. This
// is A, B, C, because later IDs are larger, although all have the same worker.
func (d *demo) list(ctx context.Context, p *process) error {
	var names []string
	if err := p.db.WithContext(ctx).Model(&Order{}).Order("id").Pluck("process", &names).Error; err != nil {
		return err
	}
	d.say("in the sequence of their keys, the orders are those that %s wrote", strings.Join(names, ", "))
	return nil
}

// stop ends the process as a program should. Close releases the worker.
func (d *demo) stop(ctx context.Context, p *process) error {
	if err := p.gen.Close(ctx); err != nil {
		return err
	}
	d.say("%s has closed its generator, which releases the worker", p.name)
	return closePool(p.db)
}

// closePool closes the connections of db.
func closePool(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// say prints a line with the seconds since the demo began.
func (d *demo) say(format string, args ...any) {
	d.out.Printf("%4.1fs  "+format, append([]any{time.Since(d.began).Seconds()}, args...)...)
}
