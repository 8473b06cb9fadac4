package plugintest

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

type product struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public types.ID `snowflake:"id"`
	Code   string   `gorm:"size:20;uniqueIndex"`
	Price  int
}

// canTell reports whether the database returns the rows of an INSERT.
func canTell(db *gorm.DB) bool {
	return slices.Contains(db.Callback().Create().Clauses, "RETURNING")
}

func byCode(columns ...string) clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns(columns)}
}

func storedProduct(t *testing.T, db *gorm.DB, code string) product {
	t.Helper()
	var row product
	Must(t, db.Where("code = ?", code).First(&row))
	return row
}

// The row found by its code keeps its keys; the struct gets them if the database
// can return them.
func TestUpsert(t *testing.T) {
	t.Parallel()
	all := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &product{})
		for _, test := range []struct {
			name   string
			clause clause.OnConflict
			key    types.ID // the key that the caller has already, as Assign leaves it
		}{
			{"columns", byCode("price"), 0},
			{"all", all, 0},
			{"columns, key set", byCode("price"), Preset},
			{"all, key set", all, Preset},
		} {
			t.Run(test.name, func(t *testing.T) {
				Must(t, db.Where("1 = 1").Delete(&product{}))
				old := product{Code: "x", Price: 1}
				Must(t, db.Create(&old))

				row := product{ID: test.key, Public: test.key, Code: "x", Price: 2}
				Must(t, db.Clauses(test.clause).Create(&row))
				rows := []product{{Code: "new", Price: 3}, {ID: test.key, Public: test.key, Code: "x", Price: 4}}
				Must(t, db.Clauses(test.clause).Create(&rows))

				stored := storedProduct(t, db, "x")
				if stored.ID != old.ID || stored.Price != 4 || Count(t, db, &product{}) != 2 {
					t.Fatalf("row = %+v, first %+v", stored, old)
				}
				if fresh := storedProduct(t, db, "new"); fresh != rows[0] {
					t.Errorf("new row = %+v, struct %+v", fresh, rows[0])
				}
				if canTell(db) && (row.ID != old.ID || rows[1] != stored) {
					t.Errorf("structs = %+v and %+v, row %+v", row, rows[1], stored)
				}
			})
		}
	})
}

func TestUpsertMap(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &product{})
		old := product{Code: "x", Price: 1}
		Must(t, db.Create(&old))
		m := map[string]any{"code": "x", "price": 2}
		Must(t, db.Model(&product{}).Clauses(byCode("price")).Create(m))
		if stored := storedProduct(t, db, "x"); stored.Price != 2 || canTell(db) && KeyOf(m["id"]) != old.ID {
			t.Errorf("row = %+v, map %v", stored, m)
		}
		maps := []map[string]any{{"code": "x", "price": 3}, {"code": "y", "price": 3}}
		Must(t, db.Model(&product{}).Clauses(byCode("price")).Create(&maps))
		if len(maps) != 2 || storedProduct(t, db, "x").Price != 3 {
			t.Errorf("maps = %v", maps)
		}
	})
}

// In MariaDB any unique key can be the conflict, even if the statement names the
// primary key, and whether or not the model declares it.
func TestSaveSliceByOtherUnique(t *testing.T) {
	t.Parallel()
	type item struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code  string   `gorm:"size:20"`
		Price int
	}
	for _, target := range []testdb.Target{testdb.MySQL, testdb.MySQLNoReturning} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			Use(t, db, NewPlugin(t))
			Migrate(t, db, &item{})
			Must(t, db.Exec("CREATE UNIQUE INDEX item_codes ON items (code)"))
			old := item{Code: "x", Price: 1}
			Must(t, db.Create(&old))
			rows := []item{{Code: "x", Price: 2}, {Code: "y", Price: 2}}
			Must(t, db.Save(&rows))
			row := item{Code: "x", Price: 3}
			Must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row))
			var stored item
			Must(t, db.Where("code = ?", "x").First(&stored))
			if stored.ID != old.ID || stored.Price != 3 || canTell(db) && (rows[0].ID != old.ID || row.ID != old.ID) {
				t.Errorf("row = %+v, structs %+v and %+v, first %+v", stored, rows[0], row, old)
			}
		})
	}
}

// If DO NOTHING leaves a row unchanged, the key in its struct is in no row;
// RowsAffected reports it.
func TestDoNothing(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &product{})
		old := product{Code: "x", Price: 1}
		Must(t, db.Create(&old))
		row := product{Code: "x", Price: 2}
		tx := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		Must(t, tx)
		if stored := storedProduct(t, db, "x"); stored != old || tx.RowsAffected != 0 || row.ID == old.ID {
			t.Errorf("row = %+v, struct %+v, %d rows affected", stored, row, tx.RowsAffected)
		}
	})
}

// A condition on the update omits rows from RETURNING, and GORM matches the others
// to the slice by position.
func TestConditionalUpsertOfSlice(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			Use(t, db, NewPlugin(t))
			Migrate(t, db, &product{})
			Must(t, db.Create(&product{Code: "x", Price: 9}))
			conflict := byCode("price")
			conflict.Where = clause.Where{Exprs: []clause.Expression{gorm.Expr("products.price < excluded.price")}}
			rows := []product{{Code: "x", Price: 1}, {Code: "y", Price: 2}}
			Must(t, db.Clauses(conflict).Create(&rows))
			if stored := storedProduct(t, db, "y"); stored != rows[1] || rows[0].ID == rows[1].ID {
				t.Errorf("row = %+v, structs %+v", stored, rows)
			}
		})
	}
}

func TestUpsertByValue(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &product{})
		Must(t, db.Create(&product{Code: "x", Price: 1}))
		Must(t, db.Clauses(byCode("price")).Create(product{ID: 6, Public: 6, Code: "x", Price: 2}))
		Must(t, db.Clauses(byCode("price")).Create([1]product{{ID: 7, Public: 7, Code: "x", Price: 3}}))
		if stored := storedProduct(t, db, "x"); stored.Price != 3 {
			t.Errorf("row = %+v", stored)
		}
	})
}

func TestReturning(t *testing.T) {
	t.Parallel()
	type defaulted struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code  string   `gorm:"unique"`
		State string   `gorm:"default:fresh()"`
	}
	primary := []clause.Column{{Name: "id"}}
	code := []clause.Column{{Name: "code"}}
	set := clause.AssignmentColumns([]string{"code"})
	for _, test := range []struct {
		name     string
		value    any
		conflict clause.OnConflict
		want     string
	}{
		{"other column", &defaulted{}, clause.OnConflict{Columns: code, DoUpdates: set}, "RETURNING `id`,`state`"},
		{"constraint", &defaulted{}, clause.OnConflict{OnConstraint: "x", DoUpdates: set}, "RETURNING `id`,`state`"},
		{"two keys", &product{}, clause.OnConflict{Columns: code, DoUpdates: set}, "RETURNING `id`,`public`"},
		{"key only, two keys", &product{}, clause.OnConflict{Columns: primary, DoUpdates: set}, "RETURNING `id`,`public`"},
		{"key", &Book{}, clause.OnConflict{Columns: primary, DoUpdates: clause.AssignmentColumns([]string{"title"})}, ""},
		{"key by default", &Book{}, clause.OnConflict{UpdateAll: true}, ""},
		{"nothing", &Book{}, clause.OnConflict{Columns: code, DoNothing: true}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tx := Dry(t, gormflake.New(&Counter{})).Clauses(test.conflict).Create(test.value)
			Must(t, tx)
			sql := tx.Statement.SQL.String()
			got := ""
			if i := strings.Index(sql, "RETURNING"); i >= 0 {
				got = sql[i:]
			}
			if got != test.want {
				t.Errorf("sql = %s\nwant … %s", sql, test.want)
			}
		})
	}
}

func TestReturningOfTheCaller(t *testing.T) {
	t.Parallel()
	own := clause.Returning{Columns: []clause.Column{{Name: "price"}}}
	tx := Dry(t, gormflake.New(&Counter{})).Clauses(byCode("price"), own).Create(&product{})
	Must(t, tx)
	if sql := tx.Statement.SQL.String(); !strings.HasSuffix(sql, "RETURNING `price`") {
		t.Errorf("sql = %s", sql)
	}
}
