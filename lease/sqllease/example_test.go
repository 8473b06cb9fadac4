package sqllease_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // the driver "sqlite"; without DriverName it is the one that needs cgo

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

func ExampleNew() {
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: "file:example?mode=memory&cache=shared"}))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	store := sqllease.New(db, sqllease.WithNamespace("orders"))

	// lease.Acquire takes a worker in the same way, by raising its bound.
	taken := lease.Record{Bound: 1_760_000_000_000, Owner: "a fresh token"}
	swapped, err := store.CompareAndSwap(ctx, 7, lease.Record{}, taken)
	if err != nil {
		log.Fatal(err)
	}
	records, err := store.Load(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(swapped, records)
	// Output: true map[7:{1760000000000 a fresh token}]
}

// A program without GORM leases a worker, and issues IDs under it.
func ExampleNewDB() {
	db, err := sql.Open("sqlite", "file:plain?mode=memory&cache=shared")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	held, err := lease.Acquire(ctx, sqllease.NewDB(db, "sqlite"), snowflake.TwitterLayout())
	if err != nil {
		log.Fatal(err)
	}
	gen, err := snowflake.New(held)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close(ctx) // releases the worker
	id, err := gen.Next(ctx)
	fmt.Println(id > 0, err)
	// Output: true <nil>
}

func ExampleDDL() {
	statement, err := sqllease.DDL("postgres", sqllease.WithTable("ids.workers"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(statement)
	// Output:
	// CREATE TABLE IF NOT EXISTS "ids"."workers" (
	//   namespace VARCHAR(64) COLLATE "C" NOT NULL,
	//   worker_id INTEGER NOT NULL,
	//   bound BIGINT NOT NULL,
	//   owner VARCHAR(128) COLLATE "C" NOT NULL,
	//   PRIMARY KEY (namespace, worker_id)
	// );
}
