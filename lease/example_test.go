package lease_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

func ExampleAcquire() {
	ctx := context.Background()
	store := leasetest.NewMemory() // sqllease.New(db), redislease.New(client), …
	quiet := lease.WithLogger(discard())

	l, err := lease.Acquire(ctx, store, snowflake.TwitterLayout(), lease.WithWorker(7), quiet)
	if err != nil {
		panic(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		panic(err)
	}
	id, err := gen.Next(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("worker", gen.Layout().Decompose(id).Worker)

	_, err = lease.Acquire(ctx, store, snowflake.TwitterLayout(), lease.WithWorker(7), quiet)
	fmt.Println("held:", errors.Is(err, lease.ErrNoFreeWorker))

	fmt.Println("released:", gen.Close(ctx))
	// Output:
	// worker 7
	// held: true
	// released: <nil>
}
