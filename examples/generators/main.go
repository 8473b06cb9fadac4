// Command generators gives one table keys of another layout. The accountant's spreadsheet
// keeps only 15 digits of a number, so invoices get short keys from a second generator.
// Customers get keys from the default generator.
//
//	go run ./examples/generators
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Customer has a key of the default generator, which has 19 digits, because its tag names no
// generator.
type Customer struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name     string
	Invoices []Invoice
}

// Invoice has a key of the generator that run registers under the name sheet.
type Invoice struct {
	ID         types.ID `gorm:"primaryKey" snowflake:"pk,gen=sheet"`
	CustomerID types.ID
	Cents      int64
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "generators:", err)
		os.Exit(1)
	}
}

// run creates both generators, and registers the plugin with them. The plugin chooses the
// generator of a key by the model's tag.
func run(ctx context.Context, w io.Writer) (err error) {
	// Both generators may have the same worker, because each table has keys of only one of them.
	standard, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, standard.Close(ctx)) }()

	sheet, err := snowflake.New(snowflake.Static(0, 0), snowflake.WithLayout(snowflake.JSSafeLayout()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sheet.Close(ctx)) }()

	db, err := openMemory()
	if err != nil {
		return err
	}
	if err := db.Use(gormflake.New(standard, gormflake.WithGenerator("sheet", sheet))); err != nil {
		return err
	}
	if err := write(db.WithContext(ctx)); err != nil {
		return err
	}
	return report(log.New(w, "", 0), db.WithContext(ctx), sheet.Layout())
}

// openMemory opens a database in memory. The pool has a single connection, because each
// connection would have a separate database.
func openMemory() (*gorm.DB, error) {
	dialector := sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: ":memory:?_pragma=foreign_keys(1)"})
	db, err := gorm.Open(dialector)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, nil
}

// write creates customers with their invoices.
func write(db *gorm.DB) error {
	if err := db.AutoMigrate(&Customer{}, &Invoice{}); err != nil {
		return err
	}
	// Check returns an error if a tag names a generator that is not registered. Without Check,
	// the first Create would fail.
	if err := gormflake.Check(db, &Customer{}, &Invoice{}); err != nil {
		return err
	}
	return db.Create([]*Customer{
		{Name: "Ada", Invoices: []Invoice{{Cents: 1200}, {Cents: 3400}}},
		{Name: "Grace", Invoices: []Invoice{{Cents: 5600}}},
	}).Error
}

// report prints each key, and the number that a spreadsheet shows for it. sheetLayout is the
// layout of the invoices' keys. report also prints until which year the invoices' keys have at
// most 15 digits.
func report(out *log.Logger, db *gorm.DB, sheetLayout snowflake.Layout) error {
	var customers []Customer
	if err := db.Preload("Invoices").Order("id").Find(&customers).Error; err != nil {
		return err
	}
	out.Printf("%-8s  %-19s  %s", "", "key", "in a spreadsheet")
	for _, c := range customers {
		out.Printf("%-8s  %-19s  %s", "customer", c.ID, spreadsheet(c.ID))
		for _, i := range c.Invoices {
			out.Printf("%-8s  %-19s  %s", "invoice", i.ID, spreadsheet(i.ID))
		}
	}
	out.Printf("Keys of invoices have at most %d digits until %d, and JavaScript reads all of them, until %d.",
		digits, sheetLayout.Time(tooLong).Year(), sheetLayout.Expires().Year())
	return nil
}

const (
	digits           = 15                    // the digits of a number that Excel and similar programs keep
	tooLong types.ID = 1_000_000_000_000_000 // the first ID with more digits
)

// spreadsheet returns the ID as a spreadsheet shows it, with a zero in place of each digit after
// the first 15.
func spreadsheet(id types.ID) string {
	text := id.String()
	if len(text) <= digits {
		return text
	}
	return text[:digits] + strings.Repeat("0", len(text)-digits)
}
