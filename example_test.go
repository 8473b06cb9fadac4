package gormflake_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// openExample opens SQLite in memory. The pool has one connection, because each
// connection has a separate database.
func openExample() *gorm.DB {
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		panic(err)
	}
	pool, err := db.DB()
	if err != nil {
		panic(err)
	}
	pool.SetMaxOpenConns(1)
	return db
}

func Example() {
	type Line struct {
		gormflake.Model
		OrderID types.ID
		Article string
	}
	type Order struct {
		gormflake.Model
		Customer string
		Lines    []Line
	}
	ctx := context.Background()
	db := openExample()
	gen, err := snowflake.New(snowflake.Static(1, 1))
	if err != nil {
		panic(err)
	}
	defer gen.Close(ctx)
	if err := db.Use(gormflake.New(gen)); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		panic(err)
	}

	order := Order{Customer: "Ada", Lines: []Line{{Article: "pen"}, {Article: "ink"}}}
	if err := db.Create(&order).Error; err != nil {
		panic(err)
	}
	fmt.Println("linked:", order.ID != 0 && order.Lines[1].OrderID == order.ID)
	fmt.Println("in order:", order.ID < order.Lines[0].ID && order.Lines[0].ID < order.Lines[1].ID)
	// Output:
	// linked: true
	// in order: true
}

// Assign sets the primary and foreign keys of parents and children in memory. The program
// then inserts the parents in one batch and the children in another.
func ExampleAssign() {
	type Line struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OrderID types.ID
		SKU     string
	}
	type Order struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		Customer string
		Lines    []Line
	}

	gen, err := snowflake.New(snowflake.Static(0, 7))
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close(context.Background())
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		log.Fatal(err)
	}

	orders := []Order{
		{Customer: "Ada", Lines: []Line{{SKU: "pen"}, {SKU: "ink"}}},
		{Customer: "Bob", Lines: []Line{{SKU: "cap"}}},
	}
	if err := gormflake.Assign(db, orders); err != nil {
		log.Fatal(err)
	}
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	err = db.Transaction(func(tx *gorm.DB) error {
		tx = tx.Omit(clause.Associations)
		if err := tx.CreateInBatches(orders, 500).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(lines, 500).Error
	})
	if err != nil {
		log.Fatal(err)
	}

	var stored Order
	if err := db.Preload("Lines").First(&stored, orders[0].ID).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println(stored.Customer, "has", len(stored.Lines), "lines")
	fmt.Println("linked:", lines[0].OrderID == orders[0].ID)
	fmt.Println("same keys:", stored.Lines[0].ID == lines[0].ID)
	// Output:
	// Ada has 2 lines
	// linked: true
	// same keys: true
}

// CopySource returns a pgx.CopyFromSource. Pass it to CopyFrom of a connection or a
// transaction, with its table and columns.
func ExampleCopySource() {
	type Line struct {
		gormflake.Model
		OrderID  types.ID
		SKU      string
		Currency string `gorm:"default:EUR"`
	}
	type Order struct {
		gormflake.Model
		Customer string
		Lines    []Line
	}
	ids := counted(0)
	db := openExample() // PostgreSQL in earnest
	if err := db.Use(gormflake.New(&ids)); err != nil {
		panic(err)
	}
	order := Order{Customer: "Ada", Lines: []Line{{SKU: "pen"}, {SKU: "ink", Currency: "USD"}}}
	if err := gormflake.Assign(db, &order); err != nil {
		panic(err)
	}
	src, err := gormflake.CopySource(db.Omit("CreatedAt", "UpdatedAt"), order.Lines)
	if err != nil {
		panic(err)
	}
	fmt.Println(src.Table(), src.Columns())
	for src.Next() { // what CopyFrom does
		fmt.Println(src.Values())
	}
	// Output:
	// [lines] [id order_id sku currency]
	// [2 1 pen EUR] <nil>
	// [3 1 ink USD] <nil>
}

// counted is a generator that counts, so that the output of examples is the same each
// time.
type counted types.ID

func (c *counted) Fill(_ context.Context, dst []types.ID) error {
	for i := range dst {
		*c++
		dst[i] = types.ID(*c)
	}
	return nil
}

// A serial number names the same ID as the key of its row.
func ExampleNew_serialNumbers() {
	type Payment struct {
		gormflake.Model
		Number string `gorm:"size:32;uniqueIndex;<-:create" snowflake:"serial=PAY"`
	}
	db := openExample()
	gen, err := snowflake.New(snowflake.Static(1, 6))
	if err != nil {
		panic(err)
	}
	defer gen.Close(context.Background())
	if err := errors.Join(db.Use(gormflake.New(gen)), db.AutoMigrate(&Payment{})); err != nil {
		panic(err)
	}

	fresh, old := Payment{}, Payment{Model: gormflake.Model{ID: 1541815603606036480}}
	if err := db.Create([]*Payment{&fresh, &old}).Error; err != nil {
		panic(err)
	}
	numbers, err := serial.New("PAY", gen.Layout())
	if err != nil {
		panic(err)
	}
	id, err := numbers.Parse(fresh.Number)
	fmt.Println(id == fresh.ID, err)
	fmt.Println(old.Number)
	// Output:
	// true <nil>
	// PAY2022062816074010511260000
}

func ExampleWithGenerator() {
	type Ticket struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Public types.ID `snowflake:"id,gen=public"`
	}
	internal, public := counted(0), counted(5000)
	db := openExample()
	if err := db.Use(gormflake.New(&internal, gormflake.WithGenerator("public", &public))); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Ticket{}); err != nil {
		panic(err)
	}
	tickets := make([]Ticket, 2)
	fmt.Println(db.Create(&tickets).Error, tickets)
	// Output: <nil> [{1 5001} {2 5002}]
}

func ExampleWithModels() {
	type Card struct {
		gorm.Model
		UserID uint
	}
	type User struct {
		gorm.Model
		Cards []Card
	}
	models := []any{&User{}, &Card{}}
	ids := counted(0)
	db := openExample()
	if err := db.Use(gormflake.New(&ids, gormflake.WithModels(models...))); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(models...); err != nil {
		panic(err)
	}
	user := User{Cards: make([]Card, 2)}
	fmt.Println(db.Create(&user).Error, user.ID, user.Cards[0].ID, user.Cards[1].ID, user.Cards[1].UserID)
	fmt.Println(gormflake.Check(db, models...))
	// Output:
	// <nil> 1 2 3 1
	// <nil>
}

func ExampleCheck() {
	type Invoice struct {
		ID     int64 `snowflake:"pk"`
		Public int32 `snowflake:"id"`
	}
	type Payment struct {
		ID int64 `snowflake:"pk"`
	}
	ids := counted(0)
	db := openExample()
	if err := db.Use(gormflake.New(&ids)); err != nil {
		panic(err)
	}
	fmt.Println(gormflake.Check(db, &Invoice{}, &Payment{}))
	// Output:
	// gormflake: model Invoice, field Public, tag snowflake:"id": type int32 has 32 bits, an ID needs 64: use types.ID or int64
	// gormflake: model Invoice, field ID: GORM makes the column auto-increment: add gorm:"autoIncrement:false" or use types.ID
	// gormflake: model Payment, field ID: GORM makes the column auto-increment: add gorm:"autoIncrement:false" or use types.ID
}

func ExampleSkip() {
	type Country struct {
		ID   int64 `snowflake:"pk"` // a table that still has auto-increment
		Name string
	}
	ids := counted(7_000_000)
	db := openExample()
	if err := db.Use(gormflake.New(&ids)); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Country{}); err != nil {
		panic(err)
	}
	counting, flaking := Country{Name: "Chile"}, Country{Name: "Peru"}
	fmt.Println(db.WithContext(gormflake.Skip(context.Background())).Create(&counting).Error, counting)
	fmt.Println(db.Create(&flaking).Error, flaking)
	// Output:
	// <nil> {1 Chile}
	// <nil> {7000001 Peru}
}
