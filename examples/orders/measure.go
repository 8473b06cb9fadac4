package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"gorm.io/gorm"
)

// way is one way to write the sample orders. Its round writes them once, tells
// how long that took, and removes them again.
type way struct {
	name  string
	about string
	round func() (time.Duration, error)
}

func waysOf(db *gorm.DB, s size) []way {
	ways := []way{{
		"one by one", "keys from the database: an INSERT per order, one for its lines",
		func() (time.Duration, error) { return measure(db, sampleAutoOrders(s), insertOneByOne) },
	}, {
		"batches", "keys from Assign: an INSERT per " + grouped(batchRows(db)) + " rows",
		func() (time.Duration, error) { return measure(db, sampleOrders(s), insertBatches) },
	}}
	if db.Name() == "postgres" {
		ways = append(ways, way{
			"copy", "keys from Assign: PostgreSQL's COPY, by pgx",
			func() (time.Duration, error) { return measure(db, sampleOrders(s), copyIn) },
		})
	}
	return ways
}

// measure collects garbage first, so that no way pays for the one before.
func measure[T any](db *gorm.DB, orders []T, write func(*gorm.DB, []T) error) (time.Duration, error) {
	runtime.GC()
	start := time.Now()
	if err := write(db, orders); err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, remove(db, orders)
}

// remove deletes orders and their lines by their keys, also when the program has been interrupted.
func remove[T any](db *gorm.DB, orders []T) error {
	db = db.WithContext(context.WithoutCancel(db.Statement.Context))
	for batch := range slices.Chunk(orders, batchRows(db)) {
		if err := db.Select("Lines").Delete(&batch).Error; err != nil {
			return err
		}
	}
	return nil
}

// compare takes the ways in turn, so that whatever else the machine does
// meanwhile falls on all of them. It calls show with each time as it comes, and
// returns the medians.
func compare(ways []way, rounds int, show func(round, way int, took time.Duration)) ([]time.Duration, error) {
	times := make([][]time.Duration, len(ways))
	for round := range rounds {
		for i, w := range ways {
			took, err := w.round()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], took)
			show(round, i, took)
		}
	}
	medians := make([]time.Duration, len(ways))
	for i := range times {
		medians[i] = median(times[i])
	}
	return medians, nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	middle := len(times) / 2
	if len(times)%2 == 1 {
		return times[middle]
	}
	return (times[middle-1] + times[middle]) / 2
}
