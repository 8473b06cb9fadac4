package docstest_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

// These are the models of "From gorm.Model" in docs/moving.md, as they are before the
// move, in step 1 and in step 3. All use the same tables.
type (
	order struct {
		gorm.Model
		CustomerID *uint
		Lines      []orderLine `gorm:"foreignKey:OrderID"`
	}
	orderLine struct {
		gorm.Model
		OrderID uint
	}

	StringBase struct {
		ID        types.ID `gorm:"primaryKey;autoIncrement"`
		CreatedAt time.Time
		UpdatedAt time.Time
		DeletedAt gorm.DeletedAt `gorm:"index"`
	}
	stringOrder struct {
		StringBase
		CustomerID *types.ID
		Lines      []stringLine `gorm:"foreignKey:OrderID"`
	}
	stringLine struct {
		StringBase
		OrderID types.ID
	}

	Base struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		CreatedAt time.Time
		UpdatedAt time.Time
		DeletedAt gorm.DeletedAt `gorm:"index"`
	}
	movedOrder struct {
		Base
		CustomerID *types.ID
		Lines      []movedLine `gorm:"foreignKey:OrderID"`
	}
	movedLine struct {
		Base
		OrderID types.ID
	}
)

func (stringOrder) TableName() string { return "orders" }
func (stringLine) TableName() string  { return "order_lines" }
func (movedOrder) TableName() string  { return "orders" }
func (movedLine) TableName() string   { return "order_lines" }

// A program can follow "From gorm.Model" of docs/moving.md in its three steps, and create rows
// with the models of each step. After the last step, only the program assigns keys, and an
// INSERT without a key fails.
func TestFromGormModel(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		must(t, db.AutoMigrate(&order{}, &orderLine{}))
		must(t, db.Create(&order{Lines: []orderLine{{}, {}}}).Error)

		// The order that was created above has key 1, and its lines have keys 1 and 2.
		second := stringOrder{Lines: []stringLine{{}, {}}}
		must(t, db.Create(&second).Error)
		if second.ID != 2 || second.Lines[1].ID != 4 || second.Lines[1].OrderID != 2 {
			t.Errorf("keys of step 1: %+v, want 2, and 3 and 4 of its lines", second)
		}
		move(t, db, sqlmigrate.Widen)

		gen, err := gormflake.Open(t.Context(), db)
		must(t, err)
		defer func() { must(t, gen.Close(t.Context())) }()
		third := movedOrder{Lines: []movedLine{{}, {}}}
		must(t, db.Create(&third).Error)
		for gen.Layout().Min(time.Now()) <= third.Lines[1].ID {
			time.Sleep(time.Millisecond) // detach rejects tables with a key of the present tick
		}
		move(t, db, sqlmigrate.Detach, sqlmigrate.Guard)

		must(t, db.Create(&movedOrder{Lines: []movedLine{{}, {}}}).Error)
		must(t, db.AutoMigrate(&movedOrder{}, &movedLine{}))
		must(t, gormflake.Check(db, &movedOrder{}, &movedLine{}))
		if err := db.Exec("INSERT INTO orders (created_at) VALUES (NULL)").Error; err == nil {
			t.Error("the database still assigns keys")
		}
	})
}

// move applies phases of the move to the models' tables.
func move(t *testing.T, db *gorm.DB, phases ...sqlmigrate.PhaseName) {
	t.Helper()
	plan, err := sqlmigrate.Inspect(t.Context(), db, &movedOrder{}, &movedLine{})
	must(t, err)
	must(t, plan.Apply(t.Context(), db, sqlmigrate.WithPhases(phases...)))
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
