package plugintest

import (
	"context"
	"reflect"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/types"
)

// RowKind describes a model to the tests, which create and read its rows. Rows are
// pointers in an any, because the compiler would take long for code that is generic in
// the model.
type RowKind struct {
	Model any // a pointer to a zero row
	Table string
	Make  func(title string, id types.ID) any // id 0 leaves the key unset
	Key   func(row any) types.ID              // returns the key of a row

	Check func(t *testing.T, db *gorm.DB) // checks the rows further, if it is not nil

	// Generics is GenericPaths, or nil for kinds that skip these paths.
	Generics func(RowKind) []Path
}

// Preset is a key that a caller chose. No generator returns it.
const Preset types.ID = 77

// Path is a way in which GORM creates rows. Run returns the keys of the rows by title, as
// the caller sees them after the create.
type Path struct {
	Name string
	Run  func(db *gorm.DB) (map[string]types.ID, error)
}

// Paths returns all paths.
func (k RowKind) Paths() []Path {
	return append(append(k.StructPaths(), k.MapPaths()...), k.FinisherPaths()...)
}

func (k RowKind) typ() reflect.Type { return reflect.TypeOf(k.Model).Elem() }

func (k RowKind) newModel() any { return reflect.New(k.typ()).Interface() }

// one returns a function that calls create with a row that has the key id, or no key if id
// is 0. It returns the key that the row has afterwards.
func (k RowKind) one(id types.ID, create func(db *gorm.DB, row any) error) func(*gorm.DB) (map[string]types.ID, error) {
	return func(db *gorm.DB) (map[string]types.ID, error) {
		row := k.Make("a", id)
		err := create(db, row)
		return map[string]types.ID{"a": k.Key(row)}, err
	}
}

// three returns a function that calls create with a pointer to a slice of three rows. The
// second row has the key id, or no key if id is 0. It returns the keys that the rows have
// afterwards.
func (k RowKind) three(id types.ID, create func(db *gorm.DB, rows any) error) func(*gorm.DB) (map[string]types.ID, error) {
	titles := []string{"a", "b", "c"}
	return func(db *gorm.DB) (map[string]types.ID, error) {
		rows := reflect.New(reflect.SliceOf(k.typ()))
		for i, id := range []types.ID{0, id, 0} {
			rows.Elem().Set(reflect.Append(rows.Elem(), reflect.ValueOf(k.Make(titles[i], id)).Elem()))
		}
		err := create(db, rows.Interface())
		ids := map[string]types.ID{}
		for i, title := range titles {
			ids[title] = k.Key(rows.Elem().Index(i).Addr().Interface())
		}
		return ids, err
	}
}

// elem returns the value that pointer points to.
func elem(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

// pointers returns a slice of pointers to the elements of the slice that rows points to.
func pointers(rows any) any {
	from := reflect.ValueOf(rows).Elem()
	to := reflect.MakeSlice(reflect.SliceOf(reflect.PointerTo(from.Type().Elem())), from.Len(), from.Len())
	for i := range from.Len() {
		to.Index(i).Set(from.Index(i).Addr())
	}
	return to.Interface()
}

// array returns a pointer to the array that holds the elements of the slice.
func array(slice any) any {
	v := reflect.ValueOf(slice)
	return v.Convert(reflect.PointerTo(reflect.ArrayOf(v.Len(), v.Type().Elem()))).Interface()
}

// StructPaths returns creates from structs.
func (k RowKind) StructPaths() []Path {
	create := func(db *gorm.DB, rows any) error { return db.Create(rows).Error }
	return []Path{
		{"struct", k.one(0, create)},
		{"pointer to pointer", k.one(0, func(db *gorm.DB, row any) error {
			pointer := reflect.New(reflect.TypeOf(row))
			pointer.Elem().Set(reflect.ValueOf(row))
			return db.Create(pointer.Interface()).Error
		})},
		{"struct with key", k.one(Preset, create)},
		{"pointer to slice", k.three(0, create)},
		{"slice", k.three(0, func(db *gorm.DB, rows any) error { return db.Create(elem(rows)).Error })},
		{"slice of pointers", k.three(0, func(db *gorm.DB, rows any) error { return db.Create(pointers(rows)).Error })},
		{"pointer to array", k.three(0, func(db *gorm.DB, rows any) error { return db.Create(array(elem(rows))).Error })},
		{"pointer to array of pointers", k.three(0, func(db *gorm.DB, rows any) error {
			return db.Create(array(pointers(rows))).Error
		})},
		{"slice with some keys", k.three(Preset, create)},
	}
}

// MapPaths returns creates from maps. A map may name a field by its column, title, or by its
// field in the model, Title. The plugin adds the key to the map under the name of the column.
func (k RowKind) MapPaths() []Path {
	asKey := func(m map[string]any) types.ID { return KeyOf(m["id"]) }
	return []Path{
		{"map", func(db *gorm.DB) (map[string]types.ID, error) {
			m := map[string]any{"title": "a"}
			err := db.Model(k.newModel()).Create(m).Error
			return map[string]types.ID{"a": asKey(m)}, err
		}},
		{"pointer to map", func(db *gorm.DB) (map[string]types.ID, error) {
			m := map[string]any{"Title": "a"}
			err := db.Model(k.newModel()).Create(&m).Error
			return map[string]types.ID{"a": asKey(m)}, err
		}},
		{"slice of maps", func(db *gorm.DB) (map[string]types.ID, error) {
			m := []map[string]any{{"title": "a"}, {"title": "b"}}
			err := db.Model(k.newModel()).Create(m).Error
			return map[string]types.ID{"a": asKey(m[0]), "b": asKey(m[1])}, err
		}},
		{"pointer to slice of maps", func(db *gorm.DB) (map[string]types.ID, error) {
			m := []map[string]any{{"title": "a"}, {"title": "b"}}
			err := db.Model(k.newModel()).Create(&m).Error
			return map[string]types.ID{"a": asKey(m[0]), "b": asKey(m[1])}, err
		}},
	}
}

// FinisherPaths returns creates by other methods and sessions than a plain Create.
func (k RowKind) FinisherPaths() []Path {
	paths := []Path{
		{"CreateInBatches", k.three(0, func(db *gorm.DB, rows any) error { return db.CreateInBatches(elem(rows), 2).Error })},
		{"CreateInBatches pointer", k.three(0, func(db *gorm.DB, rows any) error { return db.CreateInBatches(rows, 2).Error })},
		{"CreateBatchSize", k.three(0, func(db *gorm.DB, rows any) error {
			return db.Session(&gorm.Session{CreateBatchSize: 2}).Create(rows).Error
		})},
		{"Save", k.one(0, func(db *gorm.DB, row any) error { return db.Save(row).Error })},
		{"Save with key", k.one(Preset, func(db *gorm.DB, row any) error { return db.Save(row).Error })},
		{"Save slice", k.three(0, func(db *gorm.DB, rows any) error { return db.Save(rows).Error })},
		{"FirstOrCreate", k.one(0, func(db *gorm.DB, row any) error { return db.FirstOrCreate(row, "title = ?", "a").Error })},
		{"FirstOrCreate struct", k.one(0, func(db *gorm.DB, row any) error { return db.Where(row).FirstOrCreate(row).Error })},
		{"FirstOrCreate Attrs", k.one(0, func(db *gorm.DB, row any) error {
			return db.Where("title = ?", "a").Attrs(map[string]any{"title": "a"}).FirstOrCreate(row).Error
		})},
		{"FirstOrCreate Assign", k.one(0, func(db *gorm.DB, row any) error {
			return db.Where("title = ?", "a").Assign(map[string]any{"title": "a"}).FirstOrCreate(row).Error
		})},
		{"OnConflict", k.one(0, func(db *gorm.DB, row any) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(row).Error
		})},
		{"SkipHooks", k.one(0, func(db *gorm.DB, row any) error {
			return db.Session(&gorm.Session{SkipHooks: true}).Create(row).Error
		})},
		{"PrepareStmt", k.one(0, func(db *gorm.DB, row any) error {
			return db.Session(&gorm.Session{PrepareStmt: true}).Create(row).Error
		})},
		{"SkipDefaultTransaction", k.one(0, func(db *gorm.DB, row any) error {
			return db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(row).Error
		})},
		{"Unscoped", k.one(0, func(db *gorm.DB, row any) error { return db.Unscoped().Create(row).Error })},
		{"Table", k.one(0, func(db *gorm.DB, row any) error { return db.Table(k.Table).Create(row).Error })},
		{"Model", k.one(0, func(db *gorm.DB, row any) error { return db.Model(k.newModel()).Create(row).Error })},
		{"Transaction", k.three(0, func(db *gorm.DB, rows any) error {
			return db.Transaction(func(tx *gorm.DB) error {
				return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(rows).Error })
			})
		})},
		{"Select all", k.one(0, func(db *gorm.DB, row any) error { return db.Select("*").Create(row).Error })},
		{"Select", k.three(0, func(db *gorm.DB, rows any) error { return db.Select("Title").Create(rows).Error })},
		{"Omit associations", k.one(0, func(db *gorm.DB, row any) error { return db.Omit(clause.Associations).Create(row).Error })},
	}
	if k.Generics == nil {
		return paths
	}
	return append(paths, k.Generics(k)...)
}

// GenericPaths returns the ways to create one row, or a slice of three rows, by GORM's
// generics API. The 0 leaves the key of the row, or of the second row, to the generator.
// GORM passes the rows to the same Create as the classic API, in a session of its own.
// Only a few kinds of rows use these paths, because the compiler takes a second for this
// API for each model.
func GenericPaths[T any](k RowKind) []Path {
	ctx := context.Background()
	return []Path{
		{"generics Create", k.one(0, func(db *gorm.DB, row any) error { return gorm.G[T](db).Create(ctx, row.(*T)) })},
		{"generics CreateInBatches", k.three(0, func(db *gorm.DB, rows any) error {
			return gorm.G[T](db).CreateInBatches(ctx, rows.(*[]T), 2)
		})},
		{"generics OnConflict", k.one(0, func(db *gorm.DB, row any) error {
			return gorm.G[T](db, clause.OnConflict{DoNothing: true}).Create(ctx, row.(*T))
		})},
	}
}

// RunPaths creates rows by each of the paths, and compares the table with the keys that the
// caller sees.
func RunPaths(t *testing.T, db *gorm.DB, kind RowKind, paths []Path) {
	t.Helper()
	Migrate(t, db, kind.newModel())
	for _, path := range paths {
		t.Run(path.Name, func(t *testing.T) {
			Must(t, db.Unscoped().Where("1 = 1").Delete(kind.newModel()))
			seen, err := path.Run(db)
			if err != nil {
				t.Fatal(err)
			}
			rows := Stored(t, db, kind.Table)
			if len(rows) != len(seen) {
				t.Fatalf("rows = %v, caller sees %v", rows, seen)
			}
			for title, id := range seen {
				// A key that the plugin has filled is large, because its generator uses the
				// present time.
				if rows[title] != id || id != Preset && id < 1<<40 {
					t.Errorf("%s: row has key %d, caller sees %d", title, rows[title], id)
				}
			}
			if kind.Check != nil {
				kind.Check(t, db)
			}
		})
	}
}

// Stored returns the keys of a table by title.
func Stored(t *testing.T, db *gorm.DB, table string) map[string]types.ID {
	t.Helper()
	var rows []struct {
		ID    types.ID
		Title string
	}
	Must(t, db.Session(&gorm.Session{NewDB: true}).Table(table).Select("id", "title").Scan(&rows))
	ids := make(map[string]types.ID, len(rows))
	for _, row := range rows {
		ids[row.Title] = row.ID
	}
	if len(ids) != len(rows) {
		t.Fatalf("rows share titles: %v", rows)
	}
	return ids
}

// KeyOf returns a key of any type that maps and rows contain.
func KeyOf(v any) types.ID {
	var id types.ID
	if err := id.Scan(v); err != nil {
		panic(err)
	}
	return id
}
