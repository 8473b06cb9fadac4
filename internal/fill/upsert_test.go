package fill_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// storedProduct returns the row with this code.
func storedProduct(t *testing.T, db *gorm.DB, code string) plugintest.Product {
	t.Helper()
	var row plugintest.Product
	plugintest.Must(t, db.Where("code = ?", code).First(&row))
	return row
}

// TestUpsert checks that a row that the upsert finds by its code keeps its keys, and that
// the struct gets them.
func TestUpsert(t *testing.T) {
	t.Parallel()
	all := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		for _, test := range []struct {
			name   string
			clause clause.OnConflict
			key    types.ID // the key that the caller has already, as after Assign
		}{
			{"columns", plugintest.ByCode("price"), 0},
			{"all", all, 0},
			{"columns, key set", plugintest.ByCode("price"), plugintest.Preset},
			{"all, key set", all, plugintest.Preset},
		} {
			t.Run(test.name, func(t *testing.T) {
				plugintest.Must(t, db.Where("1 = 1").Delete(&plugintest.Product{}))
				old := plugintest.Product{Code: "x", Price: 1}
				plugintest.Must(t, db.Create(&old))

				row := plugintest.Product{ID: test.key, Public: test.key, Code: "x", Price: 2}
				plugintest.Must(t, db.Clauses(test.clause).Create(&row))
				rows := []plugintest.Product{{Code: "new", Price: 3}, {ID: test.key, Public: test.key, Code: "x", Price: 4}}
				plugintest.Must(t, db.Clauses(test.clause).Create(&rows))

				stored := storedProduct(t, db, "x")
				if stored.ID != old.ID || stored.Price != 4 || plugintest.Count(t, db, &plugintest.Product{}) != 2 {
					t.Fatalf("row = %+v, first %+v", stored, old)
				}
				if fresh := storedProduct(t, db, "new"); fresh != rows[0] {
					t.Errorf("new row = %+v, struct %+v", fresh, rows[0])
				}
				if row.ID != old.ID || rows[1] != stored {
					t.Errorf("structs = %+v and %+v, row %+v", row, rows[1], stored)
				}
			})
		}
	})
}

// TestUpdateAllLikeGORM checks that an upsert with UpdateAll updates the same columns of a
// model with tags as of a model without tags, except the tagged columns. The columns differ
// in their defaults, because GORM leaves out columns whose default only the database knows,
// except default:NULL.
func TestUpdateAllLikeGORM(t *testing.T) {
	t.Parallel()
	type (
		part struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			Public types.ID `snowflake:"id"`
			Code   string   `gorm:"unique"`
			Note   *string  `gorm:"default:NULL"`
			Size   string   `gorm:"default:null"`
			State  string   `gorm:"default:fresh()"`
			Kind   string   `gorm:"default:plain"`
		}
		plain struct {
			ID    types.ID `gorm:"primaryKey"`
			Code  string   `gorm:"unique"`
			Note  *string  `gorm:"default:NULL"`
			Size  string   `gorm:"default:null"`
			State string   `gorm:"default:fresh()"`
			Kind  string   `gorm:"default:plain"`
		}
	)
	note := "a note"
	updated := func(value any) []string { // the assignments of the statement, sorted
		tx := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}).Create(value)
		plugintest.Must(t, tx)
		_, set, _ := strings.Cut(tx.Statement.SQL.String(), " DO UPDATE SET ")
		set, _, _ = strings.Cut(set, " RETURNING ")
		return slices.Sorted(strings.SplitSeq(set, ","))
	}
	for _, test := range []struct {
		name   string
		tagged any
		plain  any
	}{
		{"all zero", &part{}, &plain{ID: 1}},
		{"values", &part{Note: &note, State: "new"}, &plain{ID: 1, Note: &note, State: "new"}},
		{"one of two rows", &[]part{{}, {Size: "large"}}, &[]plain{{ID: 1}, {ID: 2, Size: "large"}}},
		{"pointers", []*part{{Note: &note}}, []*plain{{ID: 1, Note: &note}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, want := updated(test.tagged), updated(test.plain); !slices.Equal(got, want) || len(got) < 2 {
				t.Errorf("the upsert sets %q, want %q as without tags", got, want)
			}
		})
	}
}

// TestUpsertMap checks that a map gets the key of the row that the upsert finds.
func TestUpsertMap(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		old := plugintest.Product{Code: "x", Price: 1}
		plugintest.Must(t, db.Create(&old))
		m := map[string]any{"code": "x", "price": 2}
		plugintest.Must(t, db.Model(&plugintest.Product{}).Clauses(plugintest.ByCode("price")).Create(m))
		if stored := storedProduct(t, db, "x"); stored.Price != 2 || plugintest.KeyOf(m["id"]) != old.ID {
			t.Errorf("row = %+v, map %v", stored, m)
		}
	})
}

// TestUpsertMapWithFieldNames checks a map that names columns by their fields, which GORM finds
// without regard to case. Where the database returns rows, GORM writes values under the column's
// name, so the map would otherwise keep a key that no row has.
func TestUpsertMapWithFieldNames(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		old := plugintest.Product{Code: "x", Price: 1}
		plugintest.Must(t, db.Create(&old))
		for _, m := range []map[string]any{
			{"ID": nil, "Public": plugintest.Preset, "Code": "x", "Price": 2},
			{"Id": plugintest.Preset, "Code": "x", "Price": 2},
		} {
			plugintest.Must(t, db.Model(&plugintest.Product{}).Clauses(plugintest.ByCode("price")).Create(&m))
			values := map[string]any{}
			for name, value := range m {
				values[strings.ToLower(name)] = value
			}
			if len(m) != 4 || len(values) != 4 || plugintest.KeyOf(values["id"]) != old.ID || plugintest.KeyOf(values["public"]) != old.Public {
				t.Errorf("map = %v, row %+v", m, old)
			}
		}
	})
}

// TestUpsertMaps checks that an upsert of a slice of maps is an error, because GORM cannot
// read returned keys into it. On MySQL and MariaDB it is no error, because the plugin reads
// the keys from the table.
func TestUpsertMaps(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		old := plugintest.Product{Code: "x", Price: 1}
		plugintest.Must(t, db.Create(&old))
		maps := []map[string]any{{"code": "x", "price": 3}, {"code": "y", "price": 3}}
		for _, value := range []any{maps, &maps} {
			err := db.Model(&plugintest.Product{}).Clauses(plugintest.ByCode("price")).Create(value).Error
			if db.Name() == "mysql" {
				if stored := storedProduct(t, db, "x"); err != nil || stored.ID != old.ID || plugintest.KeyOf(maps[0]["id"]) != old.ID || plugintest.KeyOf(maps[0]["public"]) != old.Public {
					t.Errorf("%T: row = %+v, maps %v, err = %v", value, stored, maps, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "gormflake: model Product: an upsert of a slice of maps") {
				t.Errorf("%T: err = %v", value, err)
			}
			if stored := storedProduct(t, db, "x"); stored.Price != 1 || plugintest.Count(t, db, &plugintest.Product{}) != 1 || maps[1]["id"] != nil {
				t.Errorf("row = %+v, maps %v", stored, maps)
			}
		}
	})
}

// TestUpsertMapsByKey checks an upsert of maps by the primary key, with which the maps
// keep their keys.
func TestUpsertMapsByKey(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		old := plugintest.Book{Title: "a"}
		plugintest.Must(t, db.Create(&old))
		for _, conflict := range []clause.OnConflict{
			{UpdateAll: true},
			{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"title"})},
		} {
			maps := []map[string]any{{"id": old.ID, "title": "b"}, {"title": "c"}}
			plugintest.Must(t, db.Model(&plugintest.Book{}).Clauses(conflict).Create(&maps))
			if rows := plugintest.Stored(t, db, "books"); rows["b"] != old.ID || rows["c"] != plugintest.KeyOf(maps[1]["id"]) {
				t.Errorf("rows = %v, maps %v", rows, maps)
			}
			plugintest.Must(t, db.Where("id <> ?", old.ID).Delete(&plugintest.Book{}))
		}
	})
}

// TestSaveSliceByOtherUnique checks an upsert by the primary key that finds a row by a unique
// key which the model does not declare, as MySQL and MariaDB do. The struct gets the key of
// the row. For a slice, the upsert is an error on MySQL, which reports no key, because
// without the unique key the plugin cannot find the row.
func TestSaveSliceByOtherUnique(t *testing.T) {
	t.Parallel()
	type item struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code  string   `gorm:"size:20"`
		Price int
	}
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			plugintest.Use(t, db, plugintest.NewPlugin(t))
			plugintest.Migrate(t, db, &item{})
			plugintest.Must(t, db.Exec("CREATE UNIQUE INDEX item_codes ON items (code)"))
			old := item{Code: "x", Price: 1}
			plugintest.Must(t, db.Create(&old))
			row := item{Code: "x", Price: 3}
			plugintest.Must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row))
			var stored item
			plugintest.Must(t, db.Where("code = ?", "x").First(&stored))
			if stored != row || stored.ID != old.ID {
				t.Errorf("row = %+v, struct %+v, first %+v", stored, row, old)
			}
			rows := []item{{Code: "x", Price: 2}, {Code: "y", Price: 2}}
			err := db.Save(&rows).Error
			if !plugintest.CanTell(db) {
				if err == nil || !strings.Contains(err.Error(), "declare the unique column in the model") || plugintest.Count(t, db, &item{}) != 1 {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil || rows[0].ID != old.ID {
				t.Errorf("structs = %+v, first %+v, err = %v", rows, old, err)
			}
		})
	}
}

// TestDoNothing checks that, if DO NOTHING leaves a row unchanged, its struct has the key
// of the existing row if the database returns it, and otherwise no key.
func TestDoNothing(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		old := plugintest.Product{Code: "x", Price: 1}
		plugintest.Must(t, db.Create(&old))
		row := plugintest.Product{Code: "x", Price: 2}
		tx := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		plugintest.Must(t, tx)
		if stored := storedProduct(t, db, "x"); stored != old || row.ID != 0 && (row.ID != old.ID || row.Public != old.Public) || row.ID == 0 && (row.Public != 0 || tx.RowsAffected != 0) {
			t.Errorf("row = %+v, struct %+v, %d rows affected", stored, row, tx.RowsAffected)
		}
	})
}

// An upsert finds a shop by its unique code. The shelves of a shop show whether children
// get the key of the row that it found.
type (
	shop struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code  string   `gorm:"size:20;uniqueIndex"`
		Stock int
		Shelf []shopShelf `gorm:"foreignKey:ShopID;constraint:-"`
	}
	shopShelf struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		ShopID types.ID
	}
)

// wantShops fails unless each row has the key of its struct, and each child a parent.
func wantShops(t *testing.T, db *gorm.DB, shops ...shop) {
	t.Helper()
	for _, want := range shops {
		var stored shop
		plugintest.Must(t, db.Preload("Shelf").Where("code = ?", want.Code).First(&stored))
		if stored.ID != want.ID || len(stored.Shelf) == 0 {
			t.Errorf("row = %+v, struct %+v", stored, want)
		}
	}
	var orphans int64
	plugintest.Must(t, db.Table("shop_shelves").Where("shop_id NOT IN (SELECT id FROM shops)").Count(&orphans))
	if orphans != 0 {
		t.Errorf("%d orphans", orphans)
	}
}

// TestUpsertByConstraint checks that the plugin does not assume the keys to be the target
// of an upsert by a constraint, because the constraint may be on any columns.
func TestUpsertByConstraint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		conflict clause.OnConflict
	}{
		{"all", clause.OnConflict{OnConstraint: "codes", UpdateAll: true}},
		{"columns", clause.OnConflict{OnConstraint: "codes", DoUpdates: clause.AssignmentColumns([]string{"stock"})}},
		{"other columns are named", clause.OnConflict{
			OnConstraint: "codes", Columns: []clause.Column{{Name: "id"}}, UpdateAll: true,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, testdb.Postgres)
			plugintest.Use(t, db, plugintest.NewPlugin(t))
			plugintest.Migrate(t, db, &shop{}, &shopShelf{})
			plugintest.Must(t, db.Exec("ALTER TABLE shops ADD CONSTRAINT codes UNIQUE (code)"))
			plugintest.Must(t, db.Create(&shop{Code: "x", Stock: 1}))
			one := shop{Code: "x", Stock: 2, Shelf: make([]shopShelf, 1)}
			plugintest.Must(t, db.Clauses(test.conflict).Create(&one))
			wantShops(t, db, one)
			many := []shop{{Code: "y", Shelf: make([]shopShelf, 1)}, {Code: "x", Stock: 3, Shelf: make([]shopShelf, 2)}}
			plugintest.Must(t, db.Clauses(test.conflict).Create(&many))
			wantShops(t, db, many...)
		})
	}
}

// ifMore adds a condition to an upsert, by which it updates a row only if its stock rises.
func ifMore(conflict clause.OnConflict) clause.OnConflict {
	conflict.Where = clause.Where{Exprs: []clause.Expression{gorm.Expr("shops.stock < excluded.stock")}}
	return conflict
}

// TestConditionalUpsertOfSlice checks that an upsert of a list with a condition is an error.
// The condition may leave out rows, which do not return, and GORM matches the returned rows
// to the list by position. MySQL and MariaDB ignore the condition, so the upsert is no error
// there.
func TestConditionalUpsertOfSlice(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &shop{}, &shopShelf{})
		old := shop{Code: "x", Stock: 9, Shelf: make([]shopShelf, 1)}
		plugintest.Must(t, db.Create(&old))
		if db.Name() == "mysql" {
			rows := newShops()
			plugintest.Must(t, db.Clauses(ifMore(plugintest.ByCode("stock"))).Create(&rows))
			wantShops(t, db, rows...)
			return
		}
		// The values are a slice, an array and a slice of pointers.
		for _, value := range []any{newShops(), (*[2]shop)(newShops()), []*shop{{Code: "x"}, {Code: "y"}}} {
			err := db.Clauses(ifMore(plugintest.ByCode("stock"))).Create(value).Error
			if err == nil || !strings.Contains(err.Error(), "gormflake: model shop: an upsert of a slice with a condition") {
				t.Errorf("%T: err = %v", value, err)
			}
		}
		if n := plugintest.Count(t, db, &shop{}); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
		wantShops(t, db, old)
	})
}

// newShops returns shop x, which the table has, and shop y, which is new.
func newShops() []shop {
	return []shop{{Code: "x", Stock: 1, Shelf: make([]shopShelf, 1)}, {Code: "y", Stock: 2, Shelf: make([]shopShelf, 1)}}
}

// TestConditionalUpsert checks that after the conditional upserts that the plugin accepts,
// which are of one row or by the key, the structs have the keys of the rows.
func TestConditionalUpsert(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &shop{}, &shopShelf{}, &plugintest.Payment{})
		old := shop{Code: "x", Stock: 1}
		plugintest.Must(t, db.Create(&old))
		one := shop{Code: "x", Stock: 2, Shelf: make([]shopShelf, 1)}
		plugintest.Must(t, db.Clauses(ifMore(plugintest.ByCode("stock"))).Create(&one))
		wantShops(t, db, one)

		byKey := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"stock"})}
		rows := []shop{{ID: old.ID, Code: "x", Stock: 3}, {Code: "y", Shelf: make([]shopShelf, 1)}}
		plugintest.Must(t, db.Clauses(ifMore(byKey)).Create(&rows))
		wantShops(t, db, rows...)

		byKey.DoUpdates = clause.AssignmentColumns([]string{"title"})
		byKey.Where = clause.Where{Exprs: []clause.Expression{gorm.Expr("payments.title < excluded.title")}}
		payments := []plugintest.Payment{{Title: "z"}, {Title: "b"}}
		plugintest.Must(t, db.Create(&payments))
		payments = []plugintest.Payment{{ID: payments[0].ID, Title: "a"}, {ID: payments[1].ID, Title: "c"}, {Title: "d"}}
		want := []types.ID{payments[0].ID, payments[1].ID}
		plugintest.Must(t, db.Clauses(byKey).Create(&payments))
		plugintest.CheckNumbers[plugintest.Payment](t, db, true)
		got := []types.ID{payments[0].ID, payments[1].ID}
		if rows := plugintest.Stored(t, db, "payments"); !slices.Equal(got, want) || rows["d"] != payments[2].ID {
			t.Errorf("rows = %v, structs %+v, want keys %v", rows, payments, want)
		}
	})
}

// TestUpsertByValue checks that a copy of a struct cannot get the key of the row that the
// upsert finds.
func TestUpsertByValue(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		plugintest.Must(t, db.Create(&plugintest.Product{Code: "x", Price: 1}))
		for _, copied := range []any{
			plugintest.Product{ID: 6, Public: 6, Code: "x", Price: 2},
			[1]plugintest.Product{{ID: 7, Public: 7, Code: "x", Price: 3}},
		} {
			err := db.Clauses(plugintest.ByCode("price")).Create(copied).Error
			if stored := storedProduct(t, db, "x"); stored.Price != 1 || !errors.Is(err, gorm.ErrInvalidValue) {
				t.Errorf("%T: row = %+v, err = %v", copied, stored, err)
			}
		}
		plugintest.Must(t, db.Clauses(plugintest.ByCode("price")).Create(plugintest.Product{ID: 8, Public: 8, Code: "y"}))
	})
}

// TestUpsertArray checks that an array gets the keys of the rows as a slice does, unless
// it is a copy.
func TestUpsertArray(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		old := plugintest.Product{Code: "x", Price: 1}
		plugintest.Must(t, db.Create(&old))
		rows := [2]plugintest.Product{{Code: "y"}, {Code: "x", Price: 2}}
		plugintest.Must(t, db.Clauses(plugintest.ByCode("price")).Create(&rows))
		one := &plugintest.Product{Code: "x", Price: 3}
		plugintest.Must(t, db.Clauses(plugintest.ByCode("price")).Create([1]*plugintest.Product{one}))
		if rows[0] != storedProduct(t, db, "y") || rows[1].ID != old.ID || *one != storedProduct(t, db, "x") {
			t.Errorf("structs = %+v and %+v, first %+v", rows, one, old)
		}
	})
}

// TestReturning checks which columns the plugin makes an upsert return. These are the
// keys, and the columns that GORM would return without the plugin, if the row may have
// other keys than the struct.
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
	// want is empty if the statement returns nothing. Then the rows have the structs' keys or,
	// with DO NOTHING, the number of affected rows shows whether a row was skipped.
	for _, test := range []struct {
		name     string
		value    any
		conflict clause.OnConflict
		want     string
	}{
		{"other column", &defaulted{}, clause.OnConflict{Columns: code, DoUpdates: set}, "RETURNING `id`,`state`"},
		{"constraint", &defaulted{}, clause.OnConflict{OnConstraint: "x", DoUpdates: set}, "RETURNING `id`,`state`"},
		{"constraint, all", &plugintest.Book{}, clause.OnConflict{OnConstraint: "x", UpdateAll: true}, "RETURNING `id`"},
		{"two keys", &plugintest.Product{}, clause.OnConflict{Columns: code, DoUpdates: set}, "RETURNING `id`,`public`"},
		{"key only, two keys", &plugintest.Product{}, clause.OnConflict{Columns: primary, DoUpdates: set}, "RETURNING `id`,`public`"},
		{"key", &plugintest.Book{}, clause.OnConflict{Columns: primary, DoUpdates: clause.AssignmentColumns([]string{"title"})}, ""},
		{"key by default", &plugintest.Book{}, clause.OnConflict{UpdateAll: true}, ""},
		{"nothing", &plugintest.Book{}, clause.OnConflict{Columns: code, DoNothing: true}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tx := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Clauses(test.conflict).Create(test.value)
			plugintest.Must(t, tx)
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

// TestReturningUnderAnotherName checks that the plugin also returns a key under its own name if
// the caller's RETURNING has it under an alias, as in id AS price. GORM writes the value under
// the alias into another field, here Price.
func TestReturningUnderAnotherName(t *testing.T) {
	t.Parallel()
	returning := clause.Returning{Columns: []clause.Column{{Name: "id", Alias: "price"}}}
	tx := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Clauses(plugintest.ByCode("price"), returning).Create(&plugintest.Product{})
	plugintest.Must(t, tx)
	if sql := tx.Statement.SQL.String(); !strings.HasSuffix(sql, "RETURNING `id` AS `price`,`id`,`public`") {
		t.Errorf("sql = %s", sql)
	}
}

// TestReturningOfTheCaller checks that the plugin adds the keys to the columns that the
// caller wants returned.
func TestReturningOfTheCaller(t *testing.T) {
	t.Parallel()
	returning := clause.Returning{Columns: []clause.Column{{Name: "price"}}}
	tx := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Clauses(plugintest.ByCode("price"), returning).Create(&plugintest.Product{})
	plugintest.Must(t, tx)
	if sql := tx.Statement.SQL.String(); !strings.HasSuffix(sql, "RETURNING `price`,`id`,`public`") {
		t.Errorf("sql = %s", sql)
	}
}
