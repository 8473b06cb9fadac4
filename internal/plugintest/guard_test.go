package plugintest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

type (
	untaggedBook struct {
		ID    types.ID `gorm:"primaryKey"`
		Title string   `gorm:"size:50"`
	}
	typedBook struct {
		ID    types.Of[typedBook] `gorm:"primaryKey"`
		Title string              `gorm:"size:50"`
	}
	// resetBook has a hook that undoes what the plugin did.
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

const (
	noPlugin = "the plugin is not registered in this *gorm.DB: call gormflake.Open, or db.Use(gormflake.New(gen)), first"
	noTag    = `the field has no tag: add snowflake:"pk"`
	byHook   = "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	byMap    = `the map has 0 for it: leave it out for the plugin to fill, or set a key`
	counted  = `; if the database assigns it, add gorm:"autoIncrement"`
)

func unset(model, field, cause string) string {
	return fmt.Sprintf("gormflake: model %s, field %s: the row has no key: %s", model, field, cause)
}

// refusesUnset checks that none of the ways writes a row, and that each says why.
func refusesUnset[T any](t *testing.T, db *gorm.DB, paths []Path[T], want string) {
	t.Helper()
	Migrate(t, db, new(T))
	for _, path := range paths {
		if _, err := path.Run(db); err == nil || err.Error() != want {
			t.Errorf("%s: err = %v, want %s", path.Name, err, want)
		}
		if n := Count(t, db, new(T)); n != 0 {
			t.Fatalf("%s: %d rows written", path.Name, n)
		}
	}
}

// without returns the ways that bring no key of their own, except the named ones.
func without[T any](paths []Path[T], names ...string) []Path[T] {
	return slices.DeleteFunc(paths, func(p Path[T]) bool {
		return strings.HasSuffix(p.Name, " with key") || slices.Contains(names, p.Name)
	})
}

var untaggedBooks = RowKind[untaggedBook]{
	Table: "untagged_books",
	Make:  func(title string, id types.ID) untaggedBook { return untaggedBook{ID: id, Title: title} },
	Key:   func(b *untaggedBook) types.ID { return b.ID },
}

func TestUnsetKeyWithoutPlugin(t *testing.T) {
	t.Parallel()
	tagged := RowKind[Book]{
		Table: "books",
		Make:  func(title string, id types.ID) Book { return Book{ID: id, Title: title} },
		Key:   func(b *Book) types.ID { return b.ID },
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		// GORM asks no field for clauses if the statement is unscoped.
		refusesUnset(t, db, without(tagged.Paths(), "Unscoped"), unset("Book", "ID", noPlugin+counted))
		want := unset("untaggedBook", "ID", noPlugin+`, and tag the field snowflake:"pk"`+counted)
		refusesUnset(t, db, without(untaggedBooks.Paths(), "Unscoped"), want)
	})
}

func TestUnsetTypedKey(t *testing.T) {
	t.Parallel()
	kind := RowKind[typedBook]{
		Table: "typed_books",
		Make:  func(title string, id types.ID) typedBook { return typedBook{ID: types.Of[typedBook](id), Title: title} },
		Key:   func(b *typedBook) types.ID { return types.ID(b.ID) },
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		refusesUnset(t, db, without(kind.Paths()), unset("typedBook", "ID", noTag+counted))
		Must(t, db.Unscoped().Create(&typedBook{ID: 5}))
	})
}

func TestUnsetKeyWithoutTag(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		refusesUnset(t, db, without(untaggedBooks.Paths()), unset("untaggedBook", "ID", noTag+counted))
		Must(t, db.Unscoped().Create(&untaggedBook{ID: 5}))
	})
}

func TestKeyUnsetByHook(t *testing.T) {
	t.Parallel()
	kind := RowKind[resetBook]{
		Table: "reset_books",
		Make:  func(title string, id types.ID) resetBook { return resetBook{ID: id, Title: title} },
		Key:   func(b *resetBook) types.ID { return b.ID },
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		paths := append(kind.StructPaths(), kind.FinisherPaths()...)
		refusesUnset(t, db, without(paths, "SkipHooks"), unset("resetBook", "ID", byHook))
		RunPaths(t, db, kind, slices.DeleteFunc(paths, func(p Path[resetBook]) bool { return p.Name != "SkipHooks" }))
	})
}

func TestKeyUnsetInMap(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &Book{})
		zero := "0"
		for _, value := range []any{"0", "00", " 0 ", "-0", "0.0", []byte("0"), &zero, 0.3, 0.5, -0.9, "0.9"} {
			for _, key := range []string{"id", "ID", "Id"} {
				m := map[string]any{key: value, "title": "a"}
				for _, dest := range []any{m, &m, []map[string]any{{"title": "b"}, m}} {
					err := db.Model(&Book{}).Create(dest).Error
					if want := unset("Book", "ID", byMap); err == nil || err.Error() != want {
						t.Errorf("%T %v: err = %v, want %s", value, value, err, want)
					}
				}
			}
		}
		if n := Count(t, db, &Book{}); n != 0 {
			t.Errorf("%d rows written", n)
		}
	})
}

// A child that is refused takes its parent with it.
func TestUnsetKeyOfChild(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &bookcase{}, &casedBook{})
		err := db.Create(&bookcase{ID: 1, Books: []casedBook{{ID: 1}, {}, {}}}).Error
		if err == nil || !strings.HasPrefix(err.Error(), unset("casedBook", "ID", noPlugin)) {
			t.Errorf("err = %v", err)
		}
		if Count(t, db, &bookcase{}) != 0 || Count(t, db, &casedBook{}) != 0 {
			t.Error("rows were written")
		}
		Must(t, db.Create(&bookcase{ID: 1, Books: []casedBook{{ID: 1}, {ID: 2}}}))
		err = db.Model(&bookcase{ID: 1}).Association("Books").Append(&casedBook{})
		if err == nil || Count(t, db, &casedBook{}) != 2 {
			t.Errorf("append: %v, %d books", err, Count(t, db, &casedBook{}))
		}
	})
}

func TestUnsetKeyInUpsert(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &untaggedBook{})
		for _, upsert := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}, {
			Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"title"}),
		}} {
			if err := db.Clauses(upsert).Create(&[]untaggedBook{{ID: 1}, {}}).Error; err == nil {
				t.Errorf("%+v: no error", upsert)
			}
			Must(t, db.Clauses(upsert).Create(&[]untaggedBook{{ID: 1}}))
		}
		if n := Count(t, db, &untaggedBook{}); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

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
		Migrate(t, db, &pointerBook{}, &prefixed{})
		zero, one := types.ID(0), types.ID(1)
		for _, value := range []any{
			&pointerBook{}, &pointerBook{ID: &zero}, &[]pointerBook{{ID: &one}, {}}, &prefixed{}, []*prefixed{{Base: Base{ID: 1}}, {}},
		} {
			if err := db.Create(value).Error; err == nil || !strings.Contains(err.Error(), noPlugin) {
				t.Errorf("%+v: err = %v", value, err)
			}
		}
		Must(t, db.Create(&pointerBook{ID: &one}))
		Must(t, db.Create(&prefixed{Base: Base{ID: 1}}))
	})
	db := Dry(t, nil)
	for _, value := range []any{&row{}, &[]row{{Base: &Base{ID: 1}}, {Base: &Base{}}}} {
		if err := db.Create(value).Error; err == nil {
			t.Errorf("%+v: no error", value)
		}
	}
	Must(t, db.Create(&row{Base: &Base{ID: 1}}))
}

// A create that is refused builds no SQL, so ToSQL does not return a row with the
// key 0.
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

// What the database is to assign, and what the caller leaves to it, passes.
func TestKeyLeftToTheDatabase(t *testing.T) {
	t.Parallel()
	type autoBook struct {
		ID    types.ID `gorm:"primaryKey;autoIncrement"`
		Title string   `gorm:"size:50"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &autoBook{})
		rows := []autoBook{{Title: "a"}, {Title: "b"}}
		Must(t, db.Create(&rows))
		Must(t, db.Select("Title").Create(&autoBook{Title: "c"}))
		Must(t, db.Model(&autoBook{}).Create(map[string]any{"title": "d"}))
		stored := Stored(t, db, "auto_books")
		if rows[0].ID != 1 || rows[1].ID != 2 || stored["a"] != 1 || stored["b"] != 2 || stored["c"] == 0 || stored["d"] == 0 {
			t.Errorf("rows = %v, structs = %v", stored, rows)
		}
		// A table of the time before types.ID, and a model that does not know it.
		Must(t, db.Table("auto_books").Omit("ID").Create(&untaggedBook{Title: "e"}))
		Must(t, db.Table("auto_books").Model(&untaggedBook{}).Omit("id").Create(map[string]any{"title": "f"}))
		if stored = Stored(t, db, "auto_books"); stored["e"] == 0 || stored["f"] == 0 {
			t.Errorf("rows = %v", stored)
		}
	})
}

// A statement that selects the key does not omit it by omitting another column.
func TestUnsetKeySelected(t *testing.T) {
	t.Parallel()
	err := Dry(t, nil).Select("ID", "Title").Omit("Title").Create(&untaggedBook{Title: "a"}).Error
	if want := unset("untaggedBook", "ID", noPlugin); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// A key that is never updated is created all the same, whatever is omitted.
func TestUnsetKeyThatIsNotUpdated(t *testing.T) {
	t.Parallel()
	type onceBook struct {
		ID    types.ID `gorm:"primaryKey;<-:create"`
		Title string   `gorm:"size:50"`
	}
	err := Dry(t, nil).Omit("Title").Create(&onceBook{Title: "a"}).Error
	if want := unset("onceBook", "ID", noPlugin); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// GORM runs the statement that a callback has written, whose key is not the row's.
func TestUnsetKeyInOwnStatement(t *testing.T) {
	t.Parallel()
	const own = "INSERT INTO untagged_books SELECT 5, 'a'"
	db := Dry(t, nil)
	write := func(db *gorm.DB) { db.Statement.SQL.WriteString(own) }
	if err := db.Callback().Create().Before("gorm:create").Register("own", write); err != nil {
		t.Fatal(err)
	}
	tx := db.Create(&untaggedBook{})
	Must(t, tx)
	if sql := tx.Statement.SQL.String(); sql != own {
		t.Errorf("sql = %s, want %s", sql, own)
	}
}

// GORM never writes a column that it may not create.
func TestKeyThatIsNotCreated(t *testing.T) {
	t.Parallel()
	type readBook struct {
		ID    types.ID `gorm:"primaryKey;<-:false"`
		Title string   `gorm:"size:50"`
	}
	tx := Dry(t, nil).Create(&readBook{Title: "a"})
	Must(t, tx)
	if sql := tx.Statement.SQL.String(); sql != "INSERT INTO `read_books` (`title`) VALUES (?)" {
		t.Errorf("sql = %s", sql)
	}
}

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
		Migrate(t, db, &constantBook{}, &zeroBook{})
		Must(t, db.Create(&constantBook{Title: "a"}))
		if stored := Stored(t, db, "constant_books"); stored["a"] != 7 {
			t.Errorf("rows = %v", stored)
		}
		if err := db.Create(&zeroBook{}).Error; err == nil {
			t.Error("the default 0 was written")
		}
		if db.Name() != "sqlite" { // whose integer keys take no default
			Migrate(t, db, &defaultBook{})
			Must(t, db.Create(&defaultBook{Title: "a"}))
			if stored := Stored(t, db, "default_books"); stored["a"] != 42 {
				t.Errorf("rows = %v", stored)
			}
		}
	})
}

// Skip leaves the statement as it is without the plugin and without the check.
func TestUnsetKeySkipped(t *testing.T) {
	t.Parallel()
	for _, db := range []*gorm.DB{Dry(t, nil), Dry(t, gormflake.New(&Counter{}))} {
		db = db.WithContext(gormflake.Skip(t.Context()))
		for _, value := range []any{&Book{}, &untaggedBook{}, &[]untaggedBook{{}, {}}} {
			tx := db.Create(value)
			Must(t, tx)
			if !strings.HasPrefix(tx.Statement.SQL.String(), "INSERT INTO") {
				t.Errorf("sql = %s", tx.Statement.SQL.String())
			}
		}
	}
}

// Composite keys and join tables are the caller's and GORM's.
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
		Migrate(t, db, &part{}, &tag{}, &post{})
		Must(t, db.Create(&part{TenantID: 1}))
		Must(t, db.Create(&post{ID: 1, Tags: []tag{{ID: 1}, {ID: 2}}}))
		if n := Count(t, db, &part{}); n != 1 {
			t.Errorf("%d parts", n)
		}
		var n int64
		if Must(t, db.Table("post_tags").Count(&n)); n != 2 {
			t.Errorf("%d join rows", n)
		}
	})
}

// A shadowed key is not the model's.
func TestUnsetShadowedKey(t *testing.T) {
	t.Parallel()
	type Base struct {
		ID types.ID `gorm:"primaryKey"`
	}
	type row struct {
		Base
		ID string `gorm:"primaryKey;size:20"`
	}
	Must(t, Dry(t, nil).Create(&row{ID: "a"}))
}

// version brings a clause of its own, as plugins for optimistic locks do.
type version int64

func (version) CreateClauses(f *schema.Field) []clause.Interface {
	return []clause.Interface{setVersion{field: f}}
}

type setVersion struct {
	clause.Insert
	field *schema.Field
}

func (s setVersion) ModifyStatement(stmt *gorm.Statement) {
	stmt.SetColumn(s.field.Name, version(1), true)
}

func TestClausesOfOtherFields(t *testing.T) {
	t.Parallel()
	type versioned struct {
		Before version
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		After  version
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &versioned{})
		rows := []versioned{{}, {}}
		Must(t, db.Create(&rows))
		for _, row := range rows {
			if row.Before != 1 || row.After != 1 || row.ID == 0 {
				t.Errorf("row = %+v", row)
			}
		}
	})
	if err := Dry(t, nil).Create(&versioned{}).Error; err == nil || !strings.Contains(err.Error(), noPlugin) {
		t.Errorf("err = %v", err)
	}
}

// The check must not panic where GORM returns an error.
func TestUnsetKeyOfWrongValues(t *testing.T) {
	t.Parallel()
	db := Dry(t, nil)
	for _, value := range []any{
		[]*untaggedBook{nil}, []untaggedBook{}, []map[string]any{}, (*untaggedBook)(nil), map[string]int{},
	} {
		if err := db.Model(&untaggedBook{}).Create(value).Error; err == nil || strings.Contains(err.Error(), "the row has no key") {
			t.Errorf("%T: err = %v", value, err)
		}
	}
	for _, value := range []any{gorm.Expr("nextval('s')"), uint64(1) << 63, "7", "text", true, 1.0, -1.2} {
		Must(t, db.Model(&untaggedBook{}).Create(map[string]any{"id": value}))
	}
	for _, value := range []any{nil, "", " ", []byte{}, 0.9} {
		if err := db.Model(&untaggedBook{}).Create(map[string]any{"id": value}).Error; err == nil {
			t.Errorf("%#v: no error", value)
		}
	}
}

// GORM takes rows of another type by the positions of their fields.
func TestUnsetKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	type copied untaggedBook
	type shifted struct {
		Title string
		ID    types.ID
	}
	db := Dry(t, nil).Model(&untaggedBook{})
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

// GORM asks no field for clauses here, and the plugin checks instead: only what got
// this far, and has a model.
func TestUnscopedWithoutKey(t *testing.T) {
	t.Parallel()
	err := Dry(t, gormflake.New(&Counter{Err: ErrInjected})).Unscoped().Create(&Book{}).Error
	if !errors.Is(err, ErrInjected) || strings.Contains(err.Error(), "the row has no key") {
		t.Errorf("err = %v, want the generator's alone", err)
	}
	Must(t, Dry(t, gormflake.New(&Counter{})).Unscoped().Table("books").Create(map[string]any{"title": "a"}))
}

// Keys of other types, and what does not create rows, is GORM's alone.
func TestOtherKeysMayBeUnset(t *testing.T) {
	t.Parallel()
	type number struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Other types.ID
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &number{}, &untaggedBook{})
		Must(t, db.Create(&number{}))
		Must(t, db.Where("id = ?", 0).Delete(&untaggedBook{}))
		Must(t, db.Model(&untaggedBook{}).Where("id = ?", 0).Update("title", "a"))
		Must(t, db.Where("id = ?", types.ID(0)).Find(&[]untaggedBook{}))
	})
}
