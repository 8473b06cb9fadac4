package guard_test

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

// These models have keys of package types. Only resetBook has a tag, so that the plugin
// fills no other key.
type (
	untaggedBook struct {
		ID    types.ID `gorm:"primaryKey"`
		Title string   `gorm:"size:50"`
	}
	typedBook struct {
		ID    types.Of[typedBook] `gorm:"primaryKey"`
		Title string              `gorm:"size:50"`
	}
	// resetBook has a hook that clears the key that the plugin set.
	resetBook struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Title string   `gorm:"size:50"`
	}
	pointerBook struct {
		ID    *types.ID `gorm:"primaryKey"`
		Title string    `gorm:"size:50"`
	}
	bookcase struct {
		ID    types.ID `gorm:"primaryKey"`
		Title string   `gorm:"size:50"`
		Books []casedBook
	}
	casedBook struct {
		ID         types.ID `gorm:"primaryKey"`
		BookcaseID types.ID
	}
)

func (b *resetBook) BeforeCreate(*gorm.DB) error {
	b.ID = 0
	return nil
}

// refusesUnset checks that each path fails with the error want, and that no row is
// written.
func refusesUnset(t *testing.T, db *gorm.DB, model any, paths []plugintest.Path, want string) {
	t.Helper()
	plugintest.Migrate(t, db, model)
	for _, path := range paths {
		if _, err := path.Run(db); err == nil || strings.Replace(err.Error(), ", row 0", "", 1) != want {
			t.Errorf("%s: err = %v, want %s", path.Name, err, want)
		}
		if n := plugintest.Count(t, db, model); n != 0 {
			t.Fatalf("%s: %d rows written", path.Name, n)
		}
	}
}

// without returns the paths that set no key and do not have one of the names.
func without(paths []plugintest.Path, names ...string) []plugintest.Path {
	return slices.DeleteFunc(paths, func(p plugintest.Path) bool {
		return strings.HasSuffix(p.Name, " with key") || slices.Contains(names, p.Name)
	})
}

var untaggedBooks = plugintest.RowKind{
	Model: &untaggedBook{},
	Table: "untagged_books",
	Make:  func(title string, id types.ID) any { return &untaggedBook{ID: id, Title: title} },
	Key:   func(row any) types.ID { return row.(*untaggedBook).ID },
}

// TestUnsetKeyWithoutPlugin checks that, on a handle without the plugin, each way to
// create a row without a types.ID key is an error that says how to register the plugin.
func TestUnsetKeyWithoutPlugin(t *testing.T) {
	t.Parallel()
	tagged := plugintest.RowKind{
		Model:    &plugintest.Book{},
		Table:    "books",
		Make:     func(title string, id types.ID) any { return &plugintest.Book{ID: id, Title: title} },
		Key:      func(row any) types.ID { return row.(*plugintest.Book).ID },
		Generics: plugintest.GenericPaths[plugintest.Book],
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		// GORM ignores the clauses of fields if the statement is unscoped.
		refusesUnset(t, db, tagged.Model, without(tagged.Paths(), "Unscoped"), plugintest.Unset("Book", "ID", plugintest.NoPlugin+plugintest.Counted))
		want := plugintest.Unset("untaggedBook", "ID", plugintest.NoPlugin+`, and tag the field snowflake:"pk"`+plugintest.Counted)
		refusesUnset(t, db, untaggedBooks.Model, without(untaggedBooks.Paths(), "Unscoped"), want)
	})
}

// TestUnsetTypedKey checks that the guard also checks keys of a type types.Of, here of an
// untagged field, which the plugin does not fill.
func TestUnsetTypedKey(t *testing.T) {
	t.Parallel()
	kind := plugintest.RowKind{
		Model: &typedBook{},
		Table: "typed_books",
		Make:  func(title string, id types.ID) any { return &typedBook{ID: types.Of[typedBook](id), Title: title} },
		Key:   func(row any) types.ID { return types.ID(row.(*typedBook).ID) },
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		refusesUnset(t, db, kind.Model, without(kind.Paths()), plugintest.Unset("typedBook", "ID", plugintest.NoTag+plugintest.Counted))
		plugintest.Must(t, db.Unscoped().Create(&typedBook{ID: 5}))
	})
}

// TestUnsetKeyWithoutTag checks the error for an untagged key on a handle with the plugin.
func TestUnsetKeyWithoutTag(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		refusesUnset(t, db, untaggedBooks.Model, without(untaggedBooks.Paths()), plugintest.Unset("untaggedBook", "ID", plugintest.NoTag+plugintest.Counted))
		plugintest.Must(t, db.Unscoped().Create(&untaggedBook{ID: 5}))
	})
}

// TestKeyUnsetByLateCallback checks that the guard also detects a key that a callback
// clears after the plugin has checked it.
func TestKeyUnsetByLateCallback(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		err := db.Callback().Create().Before("gorm:create").Register("late", func(db *gorm.DB) { db.Statement.SetColumn("ID", 0) })
		if err != nil {
			t.Fatal(err)
		}
		err = db.Create(&plugintest.Book{Title: "a"}).Error
		if want := plugintest.Unset("Book", "ID", plugintest.ByHook); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}); n != 0 {
			t.Errorf("%d rows written", n)
		}
	})
}

// TestKeyUnsetByHook checks the error if a hook clears the key that the plugin set.
func TestKeyUnsetByHook(t *testing.T) {
	t.Parallel()
	kind := plugintest.RowKind{
		Model: &resetBook{},
		Table: "reset_books",
		Make:  func(title string, id types.ID) any { return &resetBook{ID: id, Title: title} },
		Key:   func(row any) types.ID { return row.(*resetBook).ID },
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		paths := append(kind.StructPaths(), kind.FinisherPaths()...)
		refusesUnset(t, db, kind.Model, without(paths, "SkipHooks"), plugintest.Unset("resetBook", "ID", plugintest.ByHook))
		plugintest.RunPaths(t, db, kind, slices.DeleteFunc(paths, func(p plugintest.Path) bool { return p.Name != "SkipHooks" }))
	})
}

// TestKeyUnsetInMap checks that each value of a map that a database may store as the key
// 0 is an error, for example " 0 " and 0.3.
func TestKeyUnsetInMap(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		zero := "0"
		for _, value := range []any{"0", "00", " 0 ", "-0", "0.0", []byte("0"), &zero, 0.3, 0.5, -0.9, "0.9"} {
			for _, key := range []string{"id", "ID", "Id"} {
				m := map[string]any{key: value, "title": "a"}
				for field, dest := range map[string]any{"ID": m, "ID, row 1": []map[string]any{{"title": "b"}, m}} {
					err := db.Model(&plugintest.Book{}).Create(dest).Error
					if want := plugintest.Unset("Book", field, plugintest.ByMap); err == nil || err.Error() != want {
						t.Errorf("%T %v: err = %v, want %s", value, value, err, want)
					}
				}
			}
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}); n != 0 {
			t.Errorf("%d rows written", n)
		}
	})
}

// TestUnsetKeyOfChild checks that, if a child without a key is rejected, its parent is not
// stored either.
func TestUnsetKeyOfChild(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &bookcase{}, &casedBook{})
		err := db.Create(&bookcase{ID: 1, Books: []casedBook{{ID: 1}, {}, {}}}).Error
		if err == nil || !strings.HasPrefix(err.Error(), plugintest.Unset("casedBook", "ID", plugintest.NoPlugin)) {
			t.Errorf("err = %v", err)
		}
		if plugintest.Count(t, db, &bookcase{}) != 0 || plugintest.Count(t, db, &casedBook{}) != 0 {
			t.Error("rows were written")
		}
		plugintest.Must(t, db.Create(&bookcase{ID: 1, Books: []casedBook{{ID: 1}, {ID: 2}}}))
		err = db.Model(&bookcase{ID: 1}).Association("Books").Append(&casedBook{})
		if err == nil || plugintest.Count(t, db, &casedBook{}) != 2 {
			t.Errorf("append: %v, %d books", err, plugintest.Count(t, db, &casedBook{}))
		}
	})
}

// TestUnsetKeyInUpsert checks that an upsert with a row without a key is an error, also
// if the upsert would change nothing.
func TestUnsetKeyInUpsert(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &untaggedBook{})
		for _, upsert := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}, {
			Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"title"}),
		}} {
			if err := db.Clauses(upsert).Create(&[]untaggedBook{{ID: 1}, {}}).Error; err == nil {
				t.Errorf("%+v: no error", upsert)
			}
			plugintest.Must(t, db.Clauses(upsert).Create(&[]untaggedBook{{ID: 1}}))
		}
		if n := plugintest.Count(t, db, &untaggedBook{}); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// TestUnsetKeyBehindPointers checks that an unset key is an error if the key is a pointer,
// or is in an embedded struct, also behind a nil pointer.
func TestUnsetKeyBehindPointers(t *testing.T) {
	t.Parallel()
	type Base struct {
		ID types.ID `gorm:"primaryKey"`
	}
	type row struct {
		*Base
		Title string
	}
	type prefixed struct {
		Base  Base `gorm:"embedded;embeddedPrefix:my_"`
		Title string
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &pointerBook{}, &prefixed{})
		zero, one := types.ID(0), types.ID(1)
		for _, value := range []any{
			&pointerBook{}, &pointerBook{ID: &zero}, &[]pointerBook{{ID: &one}, {}}, &prefixed{}, []*prefixed{{Base: Base{ID: 1}}, {}},
		} {
			if err := db.Create(value).Error; err == nil || !strings.Contains(err.Error(), plugintest.NoPlugin) {
				t.Errorf("%+v: err = %v", value, err)
			}
		}
		plugintest.Must(t, db.Create(&pointerBook{ID: &one}))
		plugintest.Must(t, db.Create(&prefixed{Base: Base{ID: 1}}))
	})
	db := plugintest.Dry(t, nil)
	for _, value := range []any{&row{}, &[]row{{Base: &Base{ID: 1}}, {Base: &Base{}}}} {
		if err := db.Create(value).Error; err == nil || !strings.Contains(err.Error(), plugintest.NoPlugin) {
			t.Errorf("%+v: err = %v", value, err)
		}
	}
	plugintest.Must(t, db.Create(&row{Base: &Base{ID: 1}}))
}

// TestUnsetKeyInDryRun checks that a rejected create builds no SQL, so that ToSQL does
// not return a row with the key 0.
func TestUnsetKeyInDryRun(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		var tx *gorm.DB
		sql := db.ToSQL(func(db *gorm.DB) *gorm.DB {
			tx = db.Create(&untaggedBook{})
			return tx
		})
		if tx.Error == nil || sql != "" {
			t.Errorf("err = %v, sql = %s", tx.Error, sql)
		}
		if sql = db.ToSQL(func(db *gorm.DB) *gorm.DB { return db.Create(&untaggedBook{ID: 5}) }); !strings.Contains(sql, "5") {
			t.Errorf("sql = %s", sql)
		}
	})
}

// TestKeyLeftToTheDatabase checks that the guard accepts keys that the database assigns,
// and keys that the caller omits.
func TestKeyLeftToTheDatabase(t *testing.T) {
	t.Parallel()
	type autoBook struct {
		ID    types.ID `gorm:"primaryKey;autoIncrement"`
		Title string   `gorm:"size:50"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &autoBook{})
		rows := []autoBook{{Title: "a"}, {Title: "b"}}
		plugintest.Must(t, db.Create(&rows))
		plugintest.Must(t, db.Select("Title").Create(&autoBook{Title: "c"}))
		plugintest.Must(t, db.Model(&autoBook{}).Create(map[string]any{"title": "d"}))
		stored := plugintest.Stored(t, db, "auto_books")
		if rows[0].ID != 1 || rows[1].ID != 2 || stored["a"] != 1 || stored["b"] != 2 || stored["c"] == 0 || stored["d"] == 0 {
			t.Errorf("rows = %v, structs = %v", stored, rows)
		}
		// The counter of the table assigns a key, although untaggedBook does not declare
		// it.
		plugintest.Must(t, db.Table("auto_books").Omit("ID").Create(&untaggedBook{Title: "e"}))
		plugintest.Must(t, db.Table("auto_books").Model(&untaggedBook{}).Omit("id").Create(map[string]any{"title": "f"}))
		if stored = plugintest.Stored(t, db, "auto_books"); stored["e"] == 0 || stored["f"] == 0 {
			t.Errorf("rows = %v", stored)
		}
	})
}

// TestUnsetKeySelected checks that an unset key is an error if the statement selects the
// key and omits only another column.
func TestUnsetKeySelected(t *testing.T) {
	t.Parallel()
	err := plugintest.Dry(t, nil).Select("ID", "Title").Omit("Title").Create(&untaggedBook{Title: "a"}).Error
	if want := plugintest.Unset("untaggedBook", "ID", plugintest.NoPlugin); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// TestUnsetKeyThatIsNotUpdated checks that a key that GORM creates but never updates is
// checked too.
func TestUnsetKeyThatIsNotUpdated(t *testing.T) {
	t.Parallel()
	type onceBook struct {
		ID    types.ID `gorm:"primaryKey;<-:create"`
		Title string   `gorm:"size:50"`
	}
	err := plugintest.Dry(t, nil).Omit("Title").Create(&onceBook{Title: "a"}).Error
	if want := plugintest.Unset("onceBook", "ID", plugintest.NoPlugin); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// TestUnsetKeyInOwnStatement checks that the guard accepts a struct without a key if a
// callback has written the SQL, because that SQL need not insert the values of the struct.
func TestUnsetKeyInOwnStatement(t *testing.T) {
	t.Parallel()
	const statement = "INSERT INTO untagged_books SELECT 5, 'a'"
	db := plugintest.Dry(t, nil)
	write := func(db *gorm.DB) { db.Statement.SQL.WriteString(statement) }
	if err := db.Callback().Create().Before("gorm:create").Register("own", write); err != nil {
		t.Fatal(err)
	}
	tx := db.Create(&untaggedBook{})
	plugintest.Must(t, tx)
	if sql := tx.Statement.SQL.String(); sql != statement {
		t.Errorf("sql = %s, want %s", sql, statement)
	}
}

// TestKeyThatIsNotCreated checks that the guard accepts a column that GORM may not
// create, because GORM does not write it.
func TestKeyThatIsNotCreated(t *testing.T) {
	t.Parallel()
	type readBook struct {
		ID    types.ID `gorm:"primaryKey;<-:false"`
		Title string   `gorm:"size:50"`
	}
	tx := plugintest.Dry(t, nil).Create(&readBook{Title: "a"})
	plugintest.Must(t, tx)
	if sql := tx.Statement.SQL.String(); sql != "INSERT INTO `read_books` (`title`) VALUES (?)" {
		t.Errorf("sql = %s", sql)
	}
}

// TestKeyWithDefault checks that a key with a default may be unset, except if the default
// is 0.
func TestKeyWithDefault(t *testing.T) {
	t.Parallel()
	type defaultBook struct {
		ID    types.ID `gorm:"primaryKey;default:(40 + 2)"`
		Title string   `gorm:"size:50"`
	}
	type constantBook struct {
		ID    types.ID `gorm:"primaryKey;default:7"`
		Title string   `gorm:"size:50"`
	}
	type zeroBook struct {
		ID    types.ID `gorm:"primaryKey;default:0"`
		Title string   `gorm:"size:50"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &constantBook{}, &zeroBook{})
		plugintest.Must(t, db.Create(&constantBook{Title: "a"}))
		if stored := plugintest.Stored(t, db, "constant_books"); stored["a"] != 7 {
			t.Errorf("rows = %v", stored)
		}
		if err := db.Create(&zeroBook{}).Error; err == nil {
			t.Error("the default 0 was written")
		}
		if db.Name() != "sqlite" { // integer keys of SQLite take no default
			plugintest.Migrate(t, db, &defaultBook{})
			plugintest.Must(t, db.Create(&defaultBook{Title: "a"}))
			if stored := plugintest.Stored(t, db, "default_books"); stored["a"] != 42 {
				t.Errorf("rows = %v", stored)
			}
		}
	})
}

// TestUnsetKeySkipped checks that, under Skip, neither the plugin nor the guard rejects a dry
// run of a create without keys.
func TestUnsetKeySkipped(t *testing.T) {
	t.Parallel()
	for _, db := range []*gorm.DB{plugintest.Dry(t, nil), plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))} {
		db = db.WithContext(gormflake.Skip(t.Context()))
		for _, value := range []any{&plugintest.Book{}, &untaggedBook{}, &[]untaggedBook{{}, {}}} {
			tx := db.Create(value)
			plugintest.Must(t, tx)
			if !strings.HasPrefix(tx.Statement.SQL.String(), "INSERT INTO") {
				t.Errorf("sql = %s", tx.Statement.SQL.String())
			}
		}
	}
}

// TestUnsetPartOfKey checks that the guard ignores composite keys and join tables.
func TestUnsetPartOfKey(t *testing.T) {
	t.Parallel()
	type part struct {
		TenantID types.ID `gorm:"primaryKey"`
		ID       types.ID `gorm:"primaryKey"`
	}
	type tag struct {
		ID types.ID `gorm:"primaryKey"`
	}
	type post struct {
		ID   types.ID `gorm:"primaryKey"`
		Tags []tag    `gorm:"many2many:post_tags"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &part{}, &tag{}, &post{})
		plugintest.Must(t, db.Create(&part{TenantID: 1}))
		plugintest.Must(t, db.Create(&post{ID: 1, Tags: []tag{{ID: 1}, {ID: 2}}}))
		if n := plugintest.Count(t, db, &part{}); n != 1 {
			t.Errorf("%d parts", n)
		}
		var n int64
		if plugintest.Must(t, db.Table("post_tags").Count(&n)); n != 2 {
			t.Errorf("%d join rows", n)
		}
	})
}

// TestUnsetShadowedKey checks that the guard ignores a shadowed key, because it is not a
// key of the model.
func TestUnsetShadowedKey(t *testing.T) {
	t.Parallel()
	type Base struct {
		ID types.ID `gorm:"primaryKey"`
	}
	type row struct {
		Base
		ID string `gorm:"primaryKey;size:20"`
	}
	plugintest.Must(t, plugintest.Dry(t, nil).Create(&row{ID: "a"}))
}

// TestClausesOfOtherFields checks that clauses that other fields add to creates work
// before and after the key's clause.
func TestClausesOfOtherFields(t *testing.T) {
	t.Parallel()
	type versioned struct {
		Before plugintest.Version
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		After  plugintest.Version
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &versioned{})
		rows := []versioned{{}, {}}
		plugintest.Must(t, db.Create(&rows))
		for _, row := range rows {
			if row.Before != 1 || row.After != 1 || row.ID == 0 {
				t.Errorf("row = %+v", row)
			}
		}
	})
	if err := plugintest.Dry(t, nil).Create(&versioned{}).Error; err == nil || !strings.Contains(err.Error(), plugintest.NoPlugin) {
		t.Errorf("err = %v", err)
	}
}

// TestUnsetKeyOfWrongValues checks that the guard does not panic on values for which GORM
// returns an error.
func TestUnsetKeyOfWrongValues(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, nil)
	for _, value := range []any{
		[]*untaggedBook{nil}, []untaggedBook{}, []map[string]any{}, (*untaggedBook)(nil), map[string]int{},
	} {
		if err := db.Model(&untaggedBook{}).Create(value).Error; err == nil || strings.Contains(err.Error(), "the row has no key") {
			t.Errorf("%T: err = %v", value, err)
		}
	}
	// These values may be keys, or are converted by GORM or the driver.
	for _, value := range []any{gorm.Expr("nextval('s')"), uint64(1) << 63, "7", "text", true, 1.0, -1.2} {
		plugintest.Must(t, db.Model(&untaggedBook{}).Create(map[string]any{"id": value}))
	}
	// A database may store these values as NULL or 0.
	for _, value := range []any{nil, "", " ", []byte{}, 0.9} {
		if err := db.Model(&untaggedBook{}).Create(map[string]any{"id": value}).Error; err == nil {
			t.Errorf("%#v: no error", value)
		}
	}
}

// TestUnsetKeyOfAnotherType checks rows of another type than the model's, which GORM
// reads by the positions of their fields. The guard checks a type with the same fields,
// and leaves a type with other fields to GORM.
func TestUnsetKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	type copied untaggedBook
	type shifted struct {
		Title string
		ID    types.ID
	}
	db := plugintest.Dry(t, nil).Model(&untaggedBook{})
	for _, value := range []any{&copied{}, &[]copied{{ID: 1}, {}}, &[]*copied{{}}} {
		err := db.Session(&gorm.Session{}).Create(value).Error
		if err == nil || !strings.Contains(err.Error(), "the row has no key") {
			t.Errorf("%T: err = %v", value, err)
		}
	}
	for _, value := range []any{&shifted{}, &[]shifted{{}}} {
		err := db.Session(&gorm.Session{}).Create(value).Error
		if err != nil && strings.Contains(err.Error(), "the row has no key") {
			t.Errorf("%T: err = %v", value, err)
		}
	}
}

// TestUnscopedWithoutKey checks two unscoped statements, whose clauses GORM ignores, so that
// the plugin calls the guard itself. The guard must add no error to a statement that has an
// error already, nor to a statement without a model.
func TestUnscopedWithoutKey(t *testing.T) {
	t.Parallel()
	err := plugintest.Dry(t, gormflake.New(&plugintest.Counter{Err: plugintest.ErrInjected})).Unscoped().Create(&plugintest.Book{}).Error
	if !errors.Is(err, plugintest.ErrInjected) || strings.Contains(err.Error(), "the row has no key") {
		t.Errorf("err = %v, want the generator's alone", err)
	}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Unscoped().Table("books").Create(map[string]any{"title": "a"}))
}

// TestOtherKeysMayBeUnset checks that the guard ignores keys of other types and
// statements that create no rows.
func TestOtherKeysMayBeUnset(t *testing.T) {
	t.Parallel()
	type number struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Other types.ID
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &number{}, &untaggedBook{})
		plugintest.Must(t, db.Create(&number{}))
		plugintest.Must(t, db.Where("id = ?", 0).Delete(&untaggedBook{}))
		plugintest.Must(t, db.Model(&untaggedBook{}).Where("id = ?", 0).Update("title", "a"))
		plugintest.Must(t, db.Where("id = ?", types.ID(0)).Find(&[]untaggedBook{}))
	})
}
