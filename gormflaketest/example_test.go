package gormflaketest_test

import (
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/types"
)

type User struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name  string
	Cards []Card
}

type Card struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	UserID types.ID
}

// database returns an empty database whose keys come from the generator.
func database(name string, gen gormflake.Generator, models ...any) *gorm.DB {
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: "file:" + name + "?mode=memory&cache=shared"}))
	if err != nil {
		panic(err)
	}
	if err := db.Use(gormflake.New(gen, gormflake.WithModels(models...))); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(append([]any{&User{}, &Card{}}, models...)...); err != nil {
		panic(err)
	}
	return db
}

// Each table has a separate count, which continues after a key that the test sets.
func ExampleNew() {
	db := database("new", gormflaketest.New())
	users := []User{{Name: "Ada"}, {Name: "Grace", Cards: make([]Card, 2)}, {ID: 10, Name: "Mary"}}
	fmt.Println(db.Create(&users).Error, users)
	next := User{Name: "Joan"}
	fmt.Println(db.Create(&next).Error, next)
	// Output:
	// <nil> [{11 Ada []} {12 Grace [{1 12} {2 12}]} {10 Mary []}]
	// <nil> {13 Joan []}
}

// The generator assigns fixed keys to parents before their children. It fails when no key
// is left.
func ExampleKeys() {
	db := database("keys", gormflaketest.Keys(1001, 7))
	user := User{Name: "Ada", Cards: make([]Card, 1)}
	fmt.Println(db.Create(&user).Error, user)
	db.Logger = db.Logger.LogMode(1) // silent
	fmt.Println(db.Create(&User{}).Error)
	// Output:
	// <nil> {1001 Ada [{7 1001}]}
	// gormflake: model User: generator: gormflaketest: 0 keys are left, and a statement needs 1: want more in Keys
}

// WithModels lists a model that keeps its uint key.
func ExampleNew_uint() {
	type Tag struct {
		gorm.Model
		Name string
	}
	db := database("uint", gormflaketest.New(), &Tag{})
	tags := []Tag{{Name: "tea"}, {Name: "cup"}}
	fmt.Println(db.Create(&tags).Error, tags[0].ID, tags[1].ID)
	// Output: <nil> 1 2
}
