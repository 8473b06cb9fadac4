package clitest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Holder starts a generator that leases worker 3 or 4 of datacenter 0. If both workers are
// leased, Holder tries again, as a supervisor restarts a process that fails. next returns the
// next ID. If another process takes the worker, next tries again until the generator has
// leased a worker. stop closes the generator, which releases the worker.
func Holder(t *testing.T, url string) (stop func(), next func() types.ID) {
	t.Helper()
	store := sqllease.New(Open(t, url))
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	acquire := func() (*lease.Lease, error) {
		return lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), quiet,
			lease.WithWorkers(3, 4), lease.WithDatacenter(0), lease.WithWindow(5*time.Second))
	}
	l, err := acquire()
	for began := time.Now(); errors.As(err, new(*lease.NoFreeWorkerError)) && time.Since(began) < Patience; l, err = acquire() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	next = func() types.ID {
		for began := time.Now(); ; {
			id, err := gen.Next(t.Context())
			if err == nil {
				return id
			}
			if time.Since(began) > Patience {
				t.Fatal(err)
			}
		}
	}
	return func() { _ = gen.Close(context.Background()) }, next
}
