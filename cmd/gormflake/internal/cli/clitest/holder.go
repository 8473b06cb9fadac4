package clitest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Holder issues IDs under worker 3 or 4 of datacenter 0 until it is stopped.
func Holder(t *testing.T, url string) (stop func(), ids <-chan types.ID) {
	t.Helper()
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	l, err := lease.Acquire(t.Context(), sqllease.New(Open(t, url)), snowflake.TwitterLayout(), quiet,
		lease.WithWorkers(3, 4), lease.WithDatacenter(0), lease.WithWindow(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	issued := make(chan types.ID)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			id, err := gen.Next(ctx)
			if err != nil {
				continue
			}
			select {
			case issued <- id:
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-done
		_ = gen.Close(context.Background())
	}, issued
}
