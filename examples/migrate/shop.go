package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

// shop is a database that three programs have open. They are the old program, the new
// program, and this program, which moves the tables.
type shop struct {
	old, new, mover *gorm.DB      // the connections of each program
	pause           time.Duration // how long a program writes before and after each change
	out             io.Writer
	written         int // the number of orders that the database has acknowledged
}

// openShop opens the database once for each program. The database is the server that dsn names,
// or the SQLite file if dsn is empty.
func openShop(dsn, file string) (*shop, error) {
	s := &shop{}
	for _, db := range []**gorm.DB{&s.old, &s.new, &s.mover} {
		var err error
		if *db, err = gorm.Open(dialectorOf(dsn, file), &gorm.Config{Logger: logger.Discard}); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// close closes the databases that are open.
func (s *shop) close() {
	for _, db := range []*gorm.DB{s.old, s.new, s.mover} {
		if db == nil {
			continue
		}
		if pool, err := db.DB(); err == nil {
			pool.Close()
		}
	}
}

// run creates the old program's tables, and changes them to the new program's tables while one
// of the programs writes to them.
func (s *shop) run(ctx context.Context, out io.Writer, pause time.Duration) error {
	s.out, s.pause = out, pause
	if err := s.build(); err != nil {
		return err
	}
	plan, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	s.print("%v\n", plan)
	if err := s.underOldProgram(ctx, plan); err != nil {
		return err
	}
	if err := s.underNewProgram(ctx, plan); err != nil {
		return err
	}
	return s.check(ctx)
}

// build creates the old program's tables, after it has dropped those of an earlier run.
func (s *shop) build() error {
	if err := s.old.Migrator().DropTable(&oldLine{}, &oldOrder{}); err != nil {
		return err
	}
	return s.old.AutoMigrate(&oldOrder{}, &oldLine{})
}

// inspect compares the tables with the models of the new program, and returns the plan of the
// changes that are still necessary.
func (s *shop) inspect(ctx context.Context) (*sqlmigrate.Plan, error) {
	return sqlmigrate.Inspect(ctx, s.mover, &newOrder{}, &newLine{})
}

// underOldProgram widens the columns to 64 bits, which Snowflake keys need, while the old
// program writes.
func (s *shop) underOldProgram(ctx context.Context, plan *sqlmigrate.Plan) error {
	w := startWriter(ctx, s.old, func() any {
		return &oldOrder{Customer: "old", Lines: []oldLine{{Article: "pen"}, {Article: "ink"}}}
	})
	defer w.end()
	return s.apply(ctx, plan, w, sqlmigrate.Widen)
}

// underNewProgram deploys the new program, whose keys a generator issues. While it writes,
// phase Detach makes the database stop assigning keys, and phase Guard makes it reject keys
// that are not positive, such as the 0 of a program that forgets the key.
func (s *shop) underNewProgram(ctx context.Context, plan *sqlmigrate.Plan) (err error) {
	gen, err := gormflake.Open(ctx, s.new)
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	s.print("the new program is deployed; its keys are Snowflake IDs\n")
	w := startWriter(ctx, s.new, func() any {
		return &newOrder{Customer: "new", Lines: []newLine{{Article: "pen"}, {Article: "ink"}}}
	})
	defer w.end()
	return s.apply(ctx, plan, w, sqlmigrate.Detach, sqlmigrate.Guard)
}

// apply runs the phases of the plan while w writes, and prints how long each phase took. It
// lets w write for a while before the phases and after them too, and prints w's results.
func (s *shop) apply(ctx context.Context, plan *sqlmigrate.Plan, w *writer, phases ...sqlmigrate.PhaseName) error {
	s.report(w, "before")
	for _, phase := range phases {
		start := time.Now()
		if err := plan.Apply(ctx, s.mover, sqlmigrate.WithPhases(phase), sqlmigrate.WithLockTimeout(5*time.Second)); err != nil {
			return err
		}
		s.print("%s took %v\n", phase, time.Since(start).Round(time.Millisecond))
	}
	s.report(w, "during and after")
	return ctx.Err()
}

// report lets the writer write for a while, and prints its results since the last report. when
// names this time, for example "before".
func (s *shop) report(w *writer, when string) {
	time.Sleep(s.pause)
	written, errs, longest := w.lap()
	s.written += written
	s.print("  %s: %d orders written, longest wait %v, %d tried again\n",
		when, written, longest.Round(time.Millisecond), len(errs))
	if len(errs) > 0 {
		s.print("     %v\n", errs[0])
	}
}

// check returns an error if rows are lost, if a key of the old program is as large as a key of
// the new program, or if the tables still need a change.
func (s *shop) check(ctx context.Context) error {
	db := s.new.WithContext(ctx)
	var orders, lines, orphans int64
	var lastOld, firstNew types.ID
	err := errors.Join(
		db.Model(&newOrder{}).Count(&orders).Error,
		db.Model(&newLine{}).Count(&lines).Error,
		db.Model(&newLine{}).Where("order_id NOT IN (?)", db.Model(&newOrder{}).Select("id")).Count(&orphans).Error,
		db.Model(&newOrder{}).Where("customer = 'old'").Select("MAX(id)").Scan(&lastOld).Error,
		db.Model(&newOrder{}).Where("customer = 'new'").Select("MIN(id)").Scan(&firstNew).Error,
		gormflake.Check(s.new, &newOrder{}, &newLine{}),
	)
	if err != nil {
		return err
	}
	s.print("\n%d orders, %d lines, %d lines without their order\n", orders, lines, orphans)
	s.print("the last key of the old program is %d, the first of the new one %d, of %s\n",
		lastOld, firstNew, snowflake.TwitterLayout().Time(firstNew).Format(time.DateTime))
	again, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	switch {
	// The database may have written an order more, whose acknowledgement was lost when the
	// writer stopped. Each order has two lines.
	case orders < int64(s.written) || lines != 2*orders || orphans > 0:
		return fmt.Errorf("rows are missing: %d orders were acknowledged", s.written)
	case lastOld >= firstNew:
		return errors.New("old and new keys overlap")
	case !again.Empty():
		return fmt.Errorf("something is left to do:\n%v", again)
	}
	s.print("nothing is left to do, and gormflake.Check finds no mistake\n")
	return nil
}

// print ignores errors, because the move must not stop halfway if the reader has gone.
func (s *shop) print(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }
