package sqlmigrate_test

import (
	"context"
	"fmt"
	"log"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

// Order and Line are the models after the move. Before it, SQLite assigned the keys of their
// tables.
type Order struct {
	ID    types.ID `snowflake:"pk"`
	Lines []Line
}

type Line struct {
	ID      types.ID `snowflake:"pk"`
	OrderID types.ID
}

func ExampleInspect() {
	ctx := context.Background()
	dialector, err := dsn.Open("sqlite://:memory:")
	if err != nil {
		log.Fatal(err)
	}
	db, err := gorm.Open(dialector)
	if err != nil {
		log.Fatal(err)
	}
	db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)")
	db.Exec("CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders)")

	plan, err := sqlmigrate.Inspect(ctx, db, &Order{}, &Line{})
	if err != nil {
		log.Fatal(err)
	}
	if err := plan.Err(); err != nil { // the blockers
		log.Fatal(err)
	}
	for _, phase := range plan.Phases { // or fmt.Print(plan)
		for _, step := range phase.Steps {
			fmt.Printf("%s: %s: %s\n", phase.Name, step.Table, step.Text)
		}
	}
	if err := plan.Apply(ctx, db); err != nil { // or plan.WriteFiles("migrations", sqlmigrate.Goose)
		log.Fatal(err)
	}
	again, err := sqlmigrate.Inspect(ctx, db, &Order{}, &Line{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("to do:", !again.Empty())
	// Output:
	// detach: orders: the key is no longer AUTOINCREMENT
	// guard: lines: a trigger refuses rows whose id is missing or not positive
	// guard: orders: a trigger refuses rows whose id is missing or not positive
	// to do: false
}
