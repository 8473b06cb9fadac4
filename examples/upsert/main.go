// Command upsert stores two feeds of products, where the SKU and not the key
// says which product is meant: whether a row was made or found, its struct ends
// with the key that the row really has, so that offers can refer to it.
//
//	go run ./examples/upsert                               SQLite in memory
//	go run ./examples/upsert -dsn postgres://user@host/db  or mysql://… (MariaDB), sqlite://file.db
//
// Its tables, upsert_example_…, are made anew by each run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Product is known to the world by its SKU.
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

// TableName keeps clear of a products table that is already there.
func (Product) TableName() string { return "upsert_example_products" }

// TableName keeps clear of an offers table that is already there.
func (Offer) TableName() string { return "upsert_example_offers" }

func main() {
	url := flag.String("dsn", "sqlite://:memory:", "`URL` of the database")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		fmt.Fprintln(os.Stderr, "upsert:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, url string) (err error) {
	// Another number for each process that writes at the same time.
	gen, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()

	db, err := open(url, gen)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	return feeds(log.New(w, "", 0), db.WithContext(ctx))
}

func open(url string, gen *snowflake.Generator) (*gorm.DB, error) {
	dialector, err := dsn.Open(url)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	return db, db.Use(gormflake.New(gen))
}

func feeds(out *log.Logger, db *gorm.DB) error {
	if err := db.Migrator().DropTable(&Offer{}, &Product{}); err != nil {
		return err
	}
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

// store inserts the products that are new, renames those whose SKU is known,
// and adds all offers.
func store(db *gorm.DB, products []Product) error {
	upsert := clause.OnConflict{
		Columns:   []clause.Column{{Name: "sku"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Clauses(upsert).Omit(clause.Associations).Create(&products).Error; err != nil {
			return err
		}
		// The products' keys are final only now. MySQL, unlike MariaDB, does not
		// return them: there, read them back by SKU before the offers are linked.
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
