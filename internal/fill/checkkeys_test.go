package fill_test

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"reflect"
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

// Callbacks clear the field ID of these models, which is a key of another kind in each. It
// is the primary key, a part of it, another tagged column or a serial number. The key of
// listed comes from WithModels.
type (
	lost[K any] struct {
		ID    K      `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
		Title string `gorm:"size:50"`
	}
	lostText struct {
		ID    string `gorm:"primaryKey;size:20" snowflake:"pk"`
		Title string `gorm:"size:50"`
	}
	lostCounted struct {
		ID    int64  `snowflake:"pk"`
		Title string `gorm:"size:50"`
	}
	lostPart struct {
		TenantID types.ID `gorm:"primaryKey" snowflake:"pk"`
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		Title    string   `gorm:"size:50"`
	}
	lostColumn struct {
		Key   types.ID `gorm:"primaryKey" snowflake:"pk"`
		ID    types.ID `snowflake:"id"`
		Title string   `gorm:"size:50"`
	}
	lostSerial struct {
		Key   types.ID `gorm:"primaryKey" snowflake:"pk"`
		ID    string   `gorm:"size:40" snowflake:"serial=PAY"`
		Title string   `gorm:"size:50"`
	}
	listed[K any] struct {
		ID    K
		Title string `gorm:"size:50"`
	}
)

// keyLoss clears the field ID of a row between the hooks and the INSERT.
type keyLoss struct {
	name  string
	clear func(db *gorm.DB)
}

var losses = []keyLoss{
	{"field", func(db *gorm.DB) {
		for _, row := range rowsIn(db.Statement.ReflectValue) {
			row.FieldByName("ID").SetZero()
		}
	}},
	{"last row alone", func(db *gorm.DB) {
		rows := rowsIn(db.Statement.ReflectValue)
		rows[len(rows)-1].FieldByName("ID").SetZero()
	}},
	{"SetColumn", func(db *gorm.DB) {
		db.Statement.SetColumn("ID", emptyOf(db.Statement.Schema.LookUpField("ID").FieldType))
	}},
}

// emptyOf returns a zero value that SetColumn accepts. SetColumn ignores a nil pointer.
func emptyOf(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// rowsIn returns the structs of a statement.
func rowsIn(v reflect.Value) (rows []reflect.Value) {
	if v.Kind() == reflect.Struct {
		return []reflect.Value{v}
	}
	for i := range v.Len() {
		rows = append(rows, reflect.Indirect(v.Index(i)))
	}
	return rows
}

// registerLoss registers a callback, which clears keys, just after the BeforeCreate hooks.
func registerLoss(t *testing.T, db *gorm.DB, callback func(*gorm.DB)) {
	t.Helper()
	if err := db.Callback().Create().After("gorm:before_create").Before("gorm:save_before_associations").Register("test:lose", callback); err != nil {
		t.Fatal(err)
	}
}

// keyKind creates rows of one model in memory. Each kind has another type or another role of
// the field ID, which the plugin sets.
type keyKind struct {
	name                string
	row, rows, pointers func() any // rows returns a pointer to a slice
}

// kindOf returns the kind with the model T.
func kindOf[T any]() keyKind {
	return keyKind{
		name:     reflect.TypeFor[T]().String(),
		row:      func() any { return new(T) },
		rows:     func() any { return &[]T{*new(T), *new(T)} },
		pointers: func() any { return []*T{new(T), new(T)} },
	}
}

var (
	// zeroKinds are the kinds that a database would store as 0 or as an empty text.
	zeroKinds = []keyKind{
		kindOf[lost[types.ID]](), kindOf[lost[int64]](), kindOf[lost[uint64]](), kindOf[lost[plugintest.NamedInt]](),
		kindOf[lostText](), kindOf[lostPart](), kindOf[lostColumn](), kindOf[lostSerial](),
	}
	// nullKinds are the kinds that a database would store as NULL.
	nullKinds = []keyKind{kindOf[lost[*types.ID]](), kindOf[lost[*int64]](), kindOf[lost[sql.NullInt64]](), kindOf[lost[sql.Null[types.ID]]]()}
	counted   = kindOf[lostCounted]() // whose key the database would assign
	// listedKinds have no tag, but are listed in WithModels.
	listedKinds = []keyKind{
		kindOf[listed[uint]](), kindOf[listed[int]](), kindOf[listed[uint64]](), kindOf[listed[int64]](),
		kindOf[listed[plugintest.NamedInt]](), kindOf[listed[*uint]](), kindOf[listed[sql.NullInt64]](),
	}
)

// createWays create one or two rows.
var createWays = map[string]func(*gorm.DB, keyKind) error{
	"struct":          func(db *gorm.DB, k keyKind) error { return db.Create(k.row()).Error },
	"slice":           func(db *gorm.DB, k keyKind) error { return db.Create(k.rows()).Error },
	"pointers":        func(db *gorm.DB, k keyKind) error { return db.Create(k.pointers()).Error },
	"CreateInBatches": func(db *gorm.DB, k keyKind) error { return db.CreateInBatches(k.rows(), 2).Error },
	"upsert": func(db *gorm.DB, k keyKind) error {
		return db.Clauses(clause.OnConflict{DoNothing: true}).Create(k.row()).Error
	},
	"Select":        func(db *gorm.DB, k keyKind) error { return db.Select("Title").Create(k.row()).Error },
	"Unscoped":      func(db *gorm.DB, k keyKind) error { return db.Unscoped().Create(k.row()).Error },
	"Save":          func(db *gorm.DB, k keyKind) error { return db.Save(k.row()).Error },
	"Save slice":    func(db *gorm.DB, k keyKind) error { return db.Save(k.rows()).Error },
	"FirstOrCreate": func(db *gorm.DB, k keyKind) error { return db.FirstOrCreate(k.row()).Error },
}

// TestLostKeys checks creates in which a callback clears the keys that the plugin has set,
// after the hooks and before the INSERT. For each kind of key the create must return an
// error and store no row. Without the check, the row would be stored, or the database would
// replace its key.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		losesKeys(t, db, slices.Concat(zeroKinds, nullKinds, []keyKind{counted}))
	})
}

// TestLostKeysOfListed is like TestLostKeys, for models without a tag whose keys come from
// WithModels.
func TestLostKeysOfListed(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		var models []any
		for _, k := range listedKinds {
			models = append(models, k.row())
		}
		plugintest.Use(t, db, gormflake.New(&plugintest.Counter{}, gormflake.WithModels(models...)))
		losesKeys(t, db, listedKinds)
	})
}

// losesKeys lets a callback clear the keys of each kind of rows in each way, and checks
// that the creates return an error and store no row.
func losesKeys(t *testing.T, db *gorm.DB, kinds []keyKind) {
	t.Helper()
	for _, loss := range losses {
		registerLoss(t, db, loss.clear)
		for _, k := range kinds {
			losesKey(t, tableOf(t, db, k), k, loss.name)
		}
		if err := db.Callback().Create().Remove("test:lose"); err != nil {
			t.Fatal(err)
		}
	}
}

// losesKey creates rows of a kind in each way, while a callback clears their keys. It checks
// that each create returns an error and stores no row.
func losesKey(t *testing.T, db *gorm.DB, k keyKind, loss string) {
	t.Helper()
	for way, create := range createWays {
		err := create(db, k)
		if err == nil || !strings.Contains(err.Error(), "field ID") || !strings.Contains(err.Error(), "the row has no ") || !strings.Contains(err.Error(), "a hook or callback has set it to 0") {
			t.Errorf("%s, %s, %s: err = %v, want that a hook has cleared it", k.name, loss, way, err)
		}
		var n int64
		if plugintest.Must(t, db.Count(&n)); n != 0 {
			t.Fatalf("%s, %s, %s: %d rows were stored", k.name, loss, way, n)
		}
	}
}

// tableOf creates a table for a type, because the name of a generic type is not a valid
// name of a table.
func tableOf(t *testing.T, db *gorm.DB, k keyKind) *gorm.DB {
	t.Helper()
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(k.name))
	db = db.Table(fmt.Sprintf("lost_%x", hash.Sum32())).Session(&gorm.Session{})
	plugintest.Migrate(t, db, k.row())
	return db
}

// TestLostKeysInMapsOfEachKind checks that a map without a key just before the INSERT is an
// error. A callback sets the key of the map to a value that is stored as 0 or NULL, or
// deletes the key. An SQL expression as the key is an error too. The test skips
// auto-increment models, because GORM drops their keys from maps.
func TestLostKeysInMapsOfEachKind(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, k := range slices.Concat(zeroKinds, nullKinds) {
			table := tableOf(t, db, k).Model(k.row()).Session(&gorm.Session{})
			for name, value := range map[string]any{
				"0": 0, "NULL": nil, "text": "", "invalid": sql.NullInt64{}, "pointer": (*types.ID)(nil), "kind": reflect.Zero(reflect.TypeOf(k.row()).Elem().Field(keyField(k)).Type).Interface(),
			} {
				registerLoss(t, db, func(db *gorm.DB) { lastMap(db)["id"] = value })
				losesInMap(t, table, k, name, nil)
				_ = db.Callback().Create().Remove("test:lose")
			}
			registerLoss(t, db, func(db *gorm.DB) { delete(lastMap(db), "id") })
			losesInMap(t, table, k, "deleted", nil)
			_ = db.Callback().Create().Remove("test:lose")
			if k.name == kindOf[lostSerial]().name {
				continue // a serial number may be an expression
			}
			losesInMap(t, table, k, "expression 0", gorm.Expr("0"))
			losesInMap(t, table, k, "expression NULL", gorm.Expr("NULL"))
		}
	})
}

// keyField returns the index of the field ID.
func keyField(k keyKind) int {
	field, _ := reflect.TypeOf(k.row()).Elem().FieldByName("ID")
	return field.Index[0]
}

// lastMap returns the map of the statement, or the last of its maps.
func lastMap(db *gorm.DB) map[string]any {
	if rows, ok := db.Statement.Dest.([]map[string]any); ok {
		return rows[len(rows)-1]
	}
	return db.Statement.Dest.(map[string]any)
}

// losesInMap creates one map and two maps, and checks that the creates return an error and
// store no row. The last map has key as its key, or no key if key is nil.
func losesInMap(t *testing.T, db *gorm.DB, k keyKind, loss string, key any) {
	t.Helper()
	last := func() map[string]any {
		if key == nil {
			return map[string]any{"title": "b"}
		}
		return map[string]any{"title": "b", "id": key}
	}
	for where, rows := range map[string]any{"field ID: ": last(), "field ID, row 1: ": []map[string]any{{"title": "a"}, last()}} {
		err := db.Create(rows).Error
		if err == nil || !strings.Contains(err.Error(), where+"the ") {
			t.Errorf("%s, %s: err = %v, want %s", k.name, loss, err, where)
		}
	}
	var n int64
	if plugintest.Must(t, db.Count(&n)); n != 0 {
		t.Fatalf("%s, %s: %d rows were stored", k.name, loss, n)
	}
}

// TestLostKeyNamesRow checks that the error names the row if there are several rows.
func TestLostKeyNamesRow(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	// losses[1] clears the key of the last row.
	registerLoss(t, db, losses[1].clear)
	tx := db.Create(make([]lost[int64], 3))
	want := "gormflake: model lost[int64], field ID, row 2: the row has no key: a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	if tx.Error == nil || tx.Error.Error() != want || tx.Statement.SQL.Len() > 0 {
		t.Errorf("err = %v, SQL %q, want %s", tx.Error, tx.Statement.SQL.String(), want)
	}
}

// TestLostKeysControl checks that, without the plugin's check, rows that lost their keys are
// stored. Otherwise the tests of lost keys would show nothing.
func TestLostKeysControl(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, callback := range []string{"gormflake:insert", "gormflake:found"} {
			if err := db.Callback().Create().Replace(callback, func(*gorm.DB) {}); err != nil {
				t.Fatal(err)
			}
		}
		// losses[0] clears the keys of all rows.
		registerLoss(t, db, losses[0].clear)
		for _, k := range append(zeroKinds[1:], counted) { // without types.ID, which has a clause
			plugintest.Must(t, tableOf(t, db, k).Create(k.row()))
		}
	})
}

// TestLostKeysInMaps checks the errors for maps whose key a callback deletes, or sets to 0
// or NULL. A map whose key is an SQL expression is an error too, because only the database
// knows its value. The test covers a primary key and another tagged column.
func TestLostKeysInMaps(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Catalog{})
		const expression = "the map has an SQL expression as the key, which cannot be checked"
		for _, test := range []struct {
			name string
			row  map[string]any
			lose func(*gorm.DB)
			want string
		}{
			{"expression 0", map[string]any{"id": gorm.Expr("0")}, nil, "field ID: " + expression},
			{"expression NULL", map[string]any{"ID": gorm.Expr("NULL")}, nil, "field ID: " + expression},
			{"query", map[string]any{"id": db.Session(&gorm.Session{NewDB: true}).Model(&plugintest.Catalog{}).Select("max(id) + 1")}, nil, "field ID: " + expression},
			{"expression of another column", map[string]any{"public": gorm.Expr("0")}, nil, "field Public: " + expression},
			{"deleted", map[string]any{}, func(db *gorm.DB) { delete(db.Statement.Dest.(map[string]any), "id") }, "field ID: the row has no key: a hook or callback"},
			{"set to 0", map[string]any{}, func(db *gorm.DB) { db.Statement.Dest.(map[string]any)["public"] = 0 }, "field Public: the row has no key: the map has 0"},
			{"set to NULL", map[string]any{}, func(db *gorm.DB) { db.Statement.Dest.(map[string]any)["id"] = nil }, "field ID: the row has no key: the map has 0"},
		} {
			if test.lose != nil {
				registerLoss(t, db, test.lose)
			}
			test.row["title"] = "a"
			err := db.Model(&plugintest.Catalog{}).Create(test.row).Error
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: model Catalog, "+test.want) {
				t.Errorf("%s: err = %v, want %s", test.name, err, test.want)
			}
			if test.lose != nil {
				_ = db.Callback().Create().Remove("test:lose")
			}
		}
		if n := plugintest.Count(t, db, &plugintest.Catalog{}); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
	})
}

// TestSkippedKeys checks that under Skip the plugin leaves rows to the caller, except
// that it rejects a key that would be written as 0.
func TestSkippedKeys(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{}, &lostCounted{})
		skipped := db.WithContext(gormflake.Skip(t.Context()))
		for name, create := range map[string]func() error{
			"row":  func() error { return skipped.Create(&plugintest.Book{}).Error },
			"rows": func() error { return skipped.Create(&[]plugintest.Book{{ID: 7}, {}}).Error },
			"map":  func() error { return skipped.Model(&plugintest.Book{}).Create(map[string]any{"id": 0}).Error },
		} {
			if err := create(); err == nil || !strings.Contains(err.Error(), "model Book, field ID") || !strings.Contains(err.Error(), "the row has no key: Skip leaves it to the caller") {
				t.Errorf("%s: err = %v, want that the key is missing", name, err)
			}
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
		plugintest.Must(t, skipped.Create(&plugintest.Book{ID: 5}))
		row := lostCounted{Title: "the database assigns it"}
		if plugintest.Must(t, skipped.Create(&row)); row.ID != 1 {
			t.Errorf("row = %+v, want key 1", row)
		}
		// The table lost_counteds assigns keys, although the model Book does not say so. A create
		// succeeds only if it omits the key.
		if err := skipped.Table("lost_counteds").Create(&plugintest.Book{Title: "a"}).Error; err == nil || !strings.Contains(err.Error(), "or Omit the field") {
			t.Errorf("column that assigns keys: err = %v, want that the key is missing", err)
		}
		plugintest.Must(t, skipped.Table("lost_counteds").Omit("ID").Create(&plugintest.Book{Title: "b"}))
		if stored := plugintest.Stored(t, db, "lost_counteds"); stored["b"] == 0 {
			t.Errorf("rows = %v, want a key for b", stored)
		}
	})
}

// TestSkippedMapWithZero checks that under Skip a map with key 0 is rejected, although the
// column has auto-increment, because GORM sends the 0.
func TestSkippedMapWithZero(t *testing.T) {
	t.Parallel()
	type numbered struct {
		ID   int64  `gorm:"primaryKey;autoIncrement" snowflake:"pk"`
		Name string `gorm:"size:20"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &numbered{})
		skipped := db.WithContext(gormflake.Skip(t.Context()))
		err := skipped.Model(&numbered{}).Create(map[string]any{"id": 0, "name": "zero"}).Error
		if err == nil || !strings.Contains(err.Error(), "the row has no key: Skip leaves it to the caller") {
			t.Errorf("a map with key 0: %v", err)
		}
		// GORM writes a column of all maps if any of them has it.
		err = skipped.Model(&numbered{}).Create([]map[string]any{{"id": 5, "name": "five"}, {"name": "none"}}).Error
		if err == nil || !strings.Contains(err.Error(), "row 1: the row has no key: Skip leaves it to the caller") {
			t.Errorf("a map without the key, beside a map with it: %v", err)
		}
		plugintest.Must(t, skipped.Model(&numbered{}).Create(map[string]any{"id": 7, "name": "seven"}))
		if n := plugintest.Count(t, db, &numbered{}); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// TestSkippedKeysOfEachKind checks that under Skip no key of any kind is stored as 0 or
// NULL.
func TestSkippedKeysOfEachKind(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		skipped := db.WithContext(gormflake.Skip(t.Context()))
		for _, k := range slices.Concat(zeroKinds, nullKinds) {
			table := tableOf(t, skipped, k)
			for way, create := range createWays {
				if way == "Select" {
					continue // under Skip the statement does not write the key
				}
				err := create(table, k)
				if err == nil || !strings.Contains(err.Error(), "the row has no key: Skip leaves it to the caller") {
					t.Errorf("%s, %s: err = %v, want that the key is missing", k.name, way, err)
				}
			}
			var n int64
			if plugintest.Must(t, table.Count(&n)); n != 0 {
				t.Errorf("%s: %d rows were stored", k.name, n)
			}
		}
	})
}

// renamed has a hook, which runs after the plugin has filled the row. The hook sets ID to New
// and Number to Own, unless these are unset.
type renamed struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:40" snowflake:"serial=PAY"`
	New    types.ID `gorm:"-"`
	Own    string   `gorm:"-"`
}

// BeforeCreate is a hook of GORM.
func (r *renamed) BeforeCreate(tx *gorm.DB) error {
	if r.New != 0 {
		tx.Statement.SetColumn("ID", r.New)
	}
	if r.Own != "" {
		r.Number = r.Own
	}
	return nil
}

// TestSerialOfAKeySetByHook checks that, if a hook changes the key, the serial number is
// made from the new key, except if the hook or the caller has set the serial number.
func TestSerialOfAKeySetByHook(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &renamed{})
		// The first row keeps the generator's key. This key is larger than 79, so the row is the
		// last in the order of the keys.
		rows := []renamed{{}, {New: 77}, {New: 78, Own: "mine"}, {New: 79, Number: "before"}}
		for i := range rows {
			plugintest.Must(t, db.Create(&rows[i]))
		}
		var stored []renamed
		plugintest.Must(t, db.Order("id").Find(&stored))
		format := plugintest.Numbers("PAY")
		for i, want := range []string{format.Format(77), "mine", "before", format.Format(rows[0].ID)} {
			if stored[i].Number != want {
				t.Errorf("row %d has number %s, want %s", stored[i].ID, stored[i].Number, want)
			}
		}
		err := db.Create(&renamed{New: -5}).Error
		if err == nil || !strings.Contains(err.Error(), "field ID: the key was set to -5 after Number was made from") {
			t.Errorf("err = %v, want that -5 has no serial number", err)
		}
	})
}
