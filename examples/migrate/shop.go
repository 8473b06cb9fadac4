package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

// A shop is its database, as three programs have it open: the old one, the new
// one, and this one, which moves the tables.
type shop struct {
	old, new, mover *gorm.DB
	pause           time.Duration
	out             io.Writer
	written         int // orders that were acknowledged
}

func openShop(url string) (*shop, error) {
	s := &shop{}
	for _, db := range []**gorm.DB{&s.old, &s.new, &s.mover} {
		var err error
		if *db, err = open(url); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func open(url string) (*gorm.DB, error) {
	if strings.HasPrefix(url, "sqlite://") && !strings.Contains(url, "?") {
		url += "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)"
	}
	dialector, err := dsn.Open(url)
	if err != nil {
		return nil, err
	}
	return gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
}

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

// run tells the story from the old tables to the new ones.
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
	return s.judge(ctx)
}

func (s *shop) build() error {
	if err := s.old.Migrator().DropTable(&oldLine{}, &oldOrder{}); err != nil {
		return err
	}
	return s.old.AutoMigrate(&oldOrder{}, &oldLine{})
}

func (s *shop) inspect(ctx context.Context) (*sqlmigrate.Plan, error) {
	return sqlmigrate.Inspect(ctx, s.mover, &newOrder{}, &newLine{})
}

func (s *shop) underOldProgram(ctx context.Context, plan *sqlmigrate.Plan) error {
	w := startWriter(ctx, s.old, func() any {
		return &oldOrder{Customer: "old", Lines: []oldLine{{Article: "pen"}, {Article: "ink"}}}
	})
	defer w.end()
	return s.apply(ctx, plan, w, sqlmigrate.Widen)
}

func (s *shop) underNewProgram(ctx context.Context, plan *sqlmigrate.Plan) (err error) {
	gen, err := gormflake.Open(ctx, s.new)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	s.print("the new program is deployed; its keys are Snowflake IDs\n")
	w := startWriter(ctx, s.new, func() any {
		return &newOrder{Customer: "new", Lines: []newLine{{Article: "pen"}, {Article: "ink"}}}
	})
	defer w.end()
	return s.apply(ctx, plan, w, sqlmigrate.Detach, sqlmigrate.Guard)
}

// apply carries out phases while the writer writes, before and after them too.
func (s *shop) apply(ctx context.Context, plan *sqlmigrate.Plan, w *writer, phases ...sqlmigrate.PhaseName) error {
	s.tell(w, "before")
	for _, phase := range phases {
		start := time.Now()
		if err := plan.Apply(ctx, s.mover, sqlmigrate.WithPhases(phase), sqlmigrate.WithLockTimeout(5*time.Second)); err != nil {
			return err
		}
		s.print("%s took %v\n", phase, time.Since(start).Round(time.Millisecond))
	}
	s.tell(w, "during and after")
	return ctx.Err()
}

// tell lets the writer write for a while, and says what it did.
func (s *shop) tell(w *writer, when string) {
	time.Sleep(s.pause)
	written, errs, longest := w.lap()
	s.written += written
	s.print("  %s: %d orders written, the longest wait was %v, %d were tried again\n",
		when, written, longest.Round(time.Millisecond), len(errs))
	if len(errs) > 0 {
		s.print("     %v\n", errs[0])
	}
}

// judge looks for what may have gone wrong.
func (s *shop) judge(ctx context.Context) error {
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
	case orders < int64(s.written) || lines != 2*orders || orphans > 0:
		return fmt.Errorf("rows are missing: %d orders were acknowledged", s.written)
	case lastOld >= firstNew:
		return errors.New("old and new keys have met")
	case !again.Empty():
		return fmt.Errorf("there is something left to do:\n%v", again)
	}
	s.print("nothing is left to do, and gormflake.Check is content\n")
	return nil
}

// print ignores that nobody reads any more: the tables have to be finished.
func (s *shop) print(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }
