// Command upsert stores two feeds of products that are identified by SKU, not by key.
// Whether a row is inserted or exists already, its struct afterwards has the key of the
// row, to which offers can refer.
//
//	go run ./examples/upsert
//
// It uses SQLite in memory. PostgreSQL, MySQL and MariaDB behave in the same way.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Product is identified by its SKU, which is unique. Its key is for references such as
// Offer.ProductID.
type Product struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	SKU    string   `gorm:"size:40;not null;unique"`
	Name   string   `gorm:"size:100;not null"`
	Offers []Offer
}

// Offer is a price of a product.
type Offer struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	ProductID types.ID `gorm:"not null;index"`
	Cents     int64    `gorm:"not null"`
}

func main() {
	db, err := openMemory()
	if err == nil {
		err = run(context.Background(), os.Stdout, db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "upsert:", err)
		os.Exit(1)
	}
}

// run registers the plugin in db, stores the feeds and prints their keys.
func run(ctx context.Context, w io.Writer, db *gorm.DB) (err error) {
	// Give a different worker to each process that writes at the same time.
	gen, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	if err := db.Use(gormflake.New(gen)); err != nil {
		return err
	}
	return feeds(log.New(w, "", 0), db.WithContext(ctx))
}

// openMemory opens a database in memory. The pool has a single connection, because each
// connection would have a separate database.
func openMemory() (*gorm.DB, error) {
	dialector := sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: ":memory:?_pragma=foreign_keys(1)"})
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
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

// feeds stores a feed of Monday and a feed of Tuesday, which both have product B-2, and prints
// the keys in the structs after each. The key of B-2 must be the same both times.
func feeds(out *log.Logger, db *gorm.DB) error {
	if err := db.AutoMigrate(&Product{}, &Offer{}); err != nil {
		return err
	}
	monday := []Product{
		{SKU: "A-1", Name: "anvil", Offers: []Offer{{Cents: 9900}}},
		{SKU: "B-2", Name: "bucket", Offers: []Offer{{Cents: 450}}},
	}
	tuesday := []Product{
		{SKU: "B-2", Name: "big bucket", Offers: []Offer{{Cents: 520}}},
		{SKU: "C-3", Name: "crate", Offers: []Offer{{Cents: 700}, {Cents: 650}}},
	}
	for _, products := range [][]Product{monday, tuesday} {
		if err := store(db, products); err != nil {
			return err
		}
		out.Print("A feed was stored. Its structs hold these keys:")
		for _, p := range products {
			out.Printf("  %s  %-10s  key %s", p.SKU, p.Name, p.ID)
		}
	}
	return report(out, db)
}

// store inserts new products, renames products whose SKU exists, and inserts all offers. It
// inserts the products without their offers first, because only afterwards does the struct of a
// product that existed have the key of its row, to which its offers must refer.
func store(db *gorm.DB, products []Product) error {
	upsert := clause.OnConflict{
		Columns:   []clause.Column{{Name: "sku"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Clauses(upsert).Omit(clause.Associations).Create(&products).Error; err != nil {
			return err
		}
		// Set the keys of the offers, and their foreign keys to the final keys of the products.
		if err := gormflake.Assign(tx, &products); err != nil {
			return err
		}
		var offers []Offer
		for _, p := range products {
			offers = append(offers, p.Offers...)
		}
		return tx.Create(&offers).Error
	})
}

// report prints the rows of the products. Their keys must be equal to the keys in the structs of
// the feeds.
func report(out *log.Logger, db *gorm.DB) error {
	var rows []Product
	if err := db.Preload("Offers").Order("sku").Find(&rows).Error; err != nil {
		return err
	}
	out.Print("The table holds:")
	for _, p := range rows {
		out.Printf("  %s  %-10s  key %s  offers %d", p.SKU, p.Name, p.ID, len(p.Offers))
	}
	return nil
}
