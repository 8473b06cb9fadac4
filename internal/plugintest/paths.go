package plugintest

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/types"
)

// RowKind is how a test makes and reads rows of the model T.
type RowKind[T any] struct {
	Table string
	Make  func(title string, id types.ID) T // id 0: unset
	Key   func(*T) types.ID

	Check func(t *testing.T, db *gorm.DB) // checks the rows further, if it is not nil

	// Generics is GenericPaths, or nil for the kinds that do without.
	Generics func(RowKind[T]) []Path[T]
}

// Preset is a key that a caller chose. No generator returns it.
const Preset types.ID = 77

// Path is one way in which GORM creates rows. Run returns their keys as the caller
// then sees them, by title.
type Path[T any] struct {
	Name string
	Run  func(db *gorm.DB) (map[string]types.ID, error)
}

// Paths returns all ways.
func (k RowKind[T]) Paths() []Path[T] {
	return append(append(k.StructPaths(), k.MapPaths()...), k.FinisherPaths()...)
}

func (k RowKind[T]) seen(titles []string, rows ...*T) map[string]types.ID {
	ids := make(map[string]types.ID, len(rows))
	for i, row := range rows {
		ids[titles[i]] = k.Key(row)
	}
	return ids
}

func (k RowKind[T]) one(create func(db *gorm.DB, row *T) error) func(*gorm.DB) (map[string]types.ID, error) {
	return func(db *gorm.DB) (map[string]types.ID, error) {
		row := k.Make("a", 0)
		err := create(db, &row)
		return k.seen([]string{"a"}, &row), err
	}
}

var threeTitles = []string{"a", "b", "c"}

func (k RowKind[T]) three(create func(db *gorm.DB, rows []T) error) func(*gorm.DB) (map[string]types.ID, error) {
	return func(db *gorm.DB) (map[string]types.ID, error) {
		rows := []T{k.Make("a", 0), k.Make("b", 0), k.Make("c", 0)}
		err := create(db, rows)
		return k.seen(threeTitles, &rows[0], &rows[1], &rows[2]), err
	}
}

// StructPaths returns creates from structs.
func (k RowKind[T]) StructPaths() []Path[T] {
	return []Path[T]{
		{"struct", k.one(func(db *gorm.DB, row *T) error { return db.Create(row).Error })},
		{"pointer to pointer", k.one(func(db *gorm.DB, row *T) error { return db.Create(&row).Error })},
		{"struct with key", func(db *gorm.DB) (map[string]types.ID, error) {
			row := k.Make("a", Preset)
			err := db.Create(&row).Error
			return k.seen([]string{"a"}, &row), err
		}},
		{"pointer to slice", k.three(func(db *gorm.DB, rows []T) error { return db.Create(&rows).Error })},
		{"slice", k.three(func(db *gorm.DB, rows []T) error { return db.Create(rows).Error })},
		{"slice of pointers", k.three(func(db *gorm.DB, rows []T) error {
			return db.Create([]*T{&rows[0], &rows[1], &rows[2]}).Error
		})},
		{"pointer to array", k.three(func(db *gorm.DB, rows []T) error { return db.Create((*[3]T)(rows)).Error })},
		{"pointer to array of pointers", k.three(func(db *gorm.DB, rows []T) error {
			return db.Create(&[3]*T{&rows[0], &rows[1], &rows[2]}).Error
		})},
		{"slice with some keys", func(db *gorm.DB) (map[string]types.ID, error) {
			rows := []T{k.Make("a", 0), k.Make("b", Preset), k.Make("c", 0)}
			err := db.Create(&rows).Error
			return k.seen(threeTitles, &rows[0], &rows[1], &rows[2]), err
		}},
	}
}

// MapPaths returns creates from maps.
func (k RowKind[T]) MapPaths() []Path[T] {
	asKey := func(m map[string]any) types.ID { return KeyOf(m["id"]) }
	return []Path[T]{
		{"map", func(db *gorm.DB) (map[string]types.ID, error) {
			m := map[string]any{"title": "a"}
			err := db.Model(new(T)).Create(m).Error
			return map[string]types.ID{"a": asKey(m)}, err
		}},
		{"pointer to map", func(db *gorm.DB) (map[string]types.ID, error) {
			m := map[string]any{"Title": "a"}
			err := db.Model(new(T)).Create(&m).Error
			return map[string]types.ID{"a": asKey(m)}, err
		}},
		{"slice of maps", func(db *gorm.DB) (map[string]types.ID, error) {
			m := []map[string]any{{"title": "a"}, {"title": "b"}}
			err := db.Model(new(T)).Create(m).Error
			return map[string]types.ID{"a": asKey(m[0]), "b": asKey(m[1])}, err
		}},
		{"pointer to slice of maps", func(db *gorm.DB) (map[string]types.ID, error) {
			m := []map[string]any{{"title": "a"}, {"title": "b"}}
			err := db.Model(new(T)).Create(&m).Error
			return map[string]types.ID{"a": asKey(m[0]), "b": asKey(m[1])}, err
		}},
	}
}

// FinisherPaths returns creates by other methods and sessions than Create.
func (k RowKind[T]) FinisherPaths() []Path[T] {
	paths := []Path[T]{
		{"CreateInBatches", k.three(func(db *gorm.DB, rows []T) error { return db.CreateInBatches(rows, 2).Error })},
		{"CreateInBatches pointer", k.three(func(db *gorm.DB, rows []T) error { return db.CreateInBatches(&rows, 2).Error })},
		{"CreateBatchSize", k.three(func(db *gorm.DB, rows []T) error {
			return db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&rows).Error
		})},
		{"Save", k.one(func(db *gorm.DB, row *T) error { return db.Save(row).Error })},
		{"Save with key", func(db *gorm.DB) (map[string]types.ID, error) {
			row := k.Make("a", Preset)
			err := db.Save(&row).Error
			return k.seen([]string{"a"}, &row), err
		}},
		{"Save slice", k.three(func(db *gorm.DB, rows []T) error { return db.Save(&rows).Error })},
		{"FirstOrCreate", k.one(func(db *gorm.DB, row *T) error { return db.FirstOrCreate(row, "title = ?", "a").Error })},
		{"FirstOrCreate struct", k.one(func(db *gorm.DB, row *T) error { return db.Where(row).FirstOrCreate(row).Error })},
		{"FirstOrCreate Attrs", k.one(func(db *gorm.DB, row *T) error {
			return db.Where("title = ?", "a").Attrs(map[string]any{"title": "a"}).FirstOrCreate(row).Error
		})},
		{"FirstOrCreate Assign", k.one(func(db *gorm.DB, row *T) error {
			return db.Where("title = ?", "a").Assign(map[string]any{"title": "a"}).FirstOrCreate(row).Error
		})},
		{"OnConflict", k.one(func(db *gorm.DB, row *T) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(row).Error
		})},
		{"SkipHooks", k.one(func(db *gorm.DB, row *T) error {
			return db.Session(&gorm.Session{SkipHooks: true}).Create(row).Error
		})},
		{"PrepareStmt", k.one(func(db *gorm.DB, row *T) error {
			return db.Session(&gorm.Session{PrepareStmt: true}).Create(row).Error
		})},
		{"SkipDefaultTransaction", k.one(func(db *gorm.DB, row *T) error {
			return db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(row).Error
		})},
		{"Unscoped", k.one(func(db *gorm.DB, row *T) error { return db.Unscoped().Create(row).Error })},
		{"Table", k.one(func(db *gorm.DB, row *T) error { return db.Table(k.Table).Create(row).Error })},
		{"Model", k.one(func(db *gorm.DB, row *T) error { return db.Model(new(T)).Create(row).Error })},
		{"Transaction", k.three(func(db *gorm.DB, rows []T) error {
			return db.Transaction(func(tx *gorm.DB) error {
				return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&rows).Error })
			})
		})},
		{"Select all", k.one(func(db *gorm.DB, row *T) error { return db.Select("*").Create(row).Error })},
		{"Select", k.three(func(db *gorm.DB, rows []T) error { return db.Select("Title").Create(&rows).Error })},
		{"Omit associations", k.one(func(db *gorm.DB, row *T) error { return db.Omit(clause.Associations).Create(row).Error })},
	}
	if k.Generics == nil {
		return paths
	}
	return append(paths, k.Generics(k)...)
}

// GenericPaths returns creates by GORM's generics API, which passes the same rows to the
// same Create in a session of its own. A few kinds of rows stand for all, because the
// compiler takes a second for this API for each model.
func GenericPaths[T any](k RowKind[T]) []Path[T] {
	ctx := context.Background()
	return []Path[T]{
		{"generics Create", k.one(func(db *gorm.DB, row *T) error { return gorm.G[T](db).Create(ctx, row) })},
		{"generics CreateInBatches", k.three(func(db *gorm.DB, rows []T) error {
			return gorm.G[T](db).CreateInBatches(ctx, &rows, 2)
		})},
		{"generics OnConflict", k.one(func(db *gorm.DB, row *T) error {
			return gorm.G[T](db, clause.OnConflict{DoNothing: true}).Create(ctx, row)
		})},
	}
}

// RunPaths creates rows in each of these ways and compares the table with what
// the caller sees.
func RunPaths[T any](t *testing.T, db *gorm.DB, kind RowKind[T], paths []Path[T]) {
	t.Helper()
	Migrate(t, db, new(T))
	for _, path := range paths {
		t.Run(path.Name, func(t *testing.T) {
			Must(t, db.Unscoped().Where("1 = 1").Delete(new(T)))
			seen, err := path.Run(db)
			if err != nil {
				t.Fatal(err)
			}
			rows := Stored(t, db, kind.Table)
			if len(rows) != len(seen) {
				t.Fatalf("rows = %v, caller sees %v", rows, seen)
			}
			for title, id := range seen {
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

// KeyOf reads a key in any of the forms that maps and rows hold.
func KeyOf(v any) types.ID {
	var id types.ID
	if err := id.Scan(v); err == nil {
		return id
	}
	switch v := v.(type) {
	case types.ID:
		return v
	case *types.ID:
		return *v
	}
	panic(fmt.Sprintf("no key: %T", v))
}
