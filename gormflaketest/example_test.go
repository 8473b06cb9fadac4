package gormflaketest_test

import (
	"context"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/types"
)

func Example() {
	type User struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: "file:example?mode=memory&cache=shared"}))
	if err != nil {
		panic(err)
	}
	if err := db.Use(gormflake.New(gormflaketest.New())); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&User{}); err != nil {
		panic(err)
	}
	users := []User{{Name: "Ada"}, {Name: "Grace"}, {ID: 10, Name: "Mary"}}
	fmt.Println(db.Create(&users).Error, users)
	next := User{Name: "Joan"}
	fmt.Println(db.Create(&next).Error, next)
	// Output:
	// <nil> [{11 Ada} {12 Grace} {10 Mary}]
	// <nil> {13 Joan}
}

func ExampleKeys() {
	gen := gormflaketest.Keys(1001, 7)
	ids := make([]types.ID, 2)
	fmt.Println(gen.Fill(context.Background(), ids), ids)
	// Output:
	// <nil> [1001 7]
}
