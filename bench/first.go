package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

const leaseTable = "gormflake_bench_workers"

// first measures what a lease adds to the start of a process: the time from
// lease.Acquire to the first ID, over a connection that is open, with a table
// that is there. That the store looks after the table and the database's
// settings, as it does once in each process, is part of it. Median of the windows.
func first(tills []*till) experiment {
	var windows []window
	for _, t := range tills {
		windows = append(windows, window{t.name, func() (float64, error) { return untilFirst(t.db) }})
	}
	return experiment{
		name: "first",
		run: func(e effort) (sample, error) {
			if err := renewWorkers(tills); err != nil {
				return nil, err
			}
			s, err := interleave(windows, e.windows(60), 0.5)
			if err != nil {
				return nil, err
			}
			return s, dropWorkers(tills)
		},
		report: func(s series) report { return reportFirst(tills, s) },
	}
}

// renewWorkers leaves a table in which no worker was ever used: one that was
// used a moment ago might have to be waited for.
func renewWorkers(tills []*till) error {
	if err := dropWorkers(tills); err != nil {
		return err
	}
	for _, t := range tills {
		if _, err := untilFirst(t.db); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func dropWorkers(tills []*till) error {
	for _, t := range tills {
		if err := t.db.Migrator().DropTable(leaseTable); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func untilFirst(db *gorm.DB) (ns float64, err error) {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	start := time.Now()
	store := sqllease.New(db, sqllease.WithTable(leaseTable), sqllease.WithLogger(log))
	l, err := lease.Acquire(ctx, store, snowflake.TwitterLayout(), lease.WithLogger(log))
	if err != nil {
		return 0, err
	}
	gen, err := snowflake.New(l)
	if err != nil {
		return 0, err
	}
	if _, err := gen.Next(ctx); err != nil {
		return 0, err
	}
	ns = float64(time.Since(start))
	return ns, gen.Close(ctx)
}

func reportFirst(tills []*till, s series) report {
	t := table{title: "From lease.Acquire to the first ID", header: []string{"", "ms"}}
	for _, till := range tills {
		t.rows = append(t.rows, []string{till.name, number(stats.Median(s[till.name]) / 1e6)})
	}
	return report{tables: []table{t}}
}
