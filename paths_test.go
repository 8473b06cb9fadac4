package gormflake_test

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/types"
)

// rowKind says how a test makes and reads rows of the model T.
type rowKind[T any] struct {
	name string
	make func(title string, id types.ID) T // id 0: unset
	key  func(*T) types.ID

	stored func(t *testing.T, db *gorm.DB) // checks the rows further, if it is not nil
}

// preset is a key that a caller chose. It is far from those of the generators.
const preset types.ID = 77

// path is one way in which GORM creates rows. It returns them as the caller
// then sees them, by title.
type path[T any] struct {
	name string
	run  func(db *gorm.DB) (map[string]types.ID, error)
}

func (k rowKind[T]) paths() []path[T] {
	return append(append(k.structPaths(), k.mapPaths()...), k.finisherPaths()...)
}

func (k rowKind[T]) seen(titles []string, rows ...*T) map[string]types.ID {
	ids := make(map[string]types.ID, len(rows))
	for i, row := range rows {
		ids[titles[i]] = k.key(row)
	}
	return ids
}

func (k rowKind[T]) one(create func(db *gorm.DB, row *T) error) func(*gorm.DB) (map[string]types.ID, error) {
	return func(db *gorm.DB) (map[string]types.ID, error) {
		row := k.make("a", 0)
		err := create(db, &row)
		return k.seen([]string{"a"}, &row), err
	}
}

var threeTitles = []string{"a", "b", "c"}

func (k rowKind[T]) three(create func(db *gorm.DB, rows []T) error) func(*gorm.DB) (map[string]types.ID, error) {
	return func(db *gorm.DB) (map[string]types.ID, error) {
		rows := []T{k.make("a", 0), k.make("b", 0), k.make("c", 0)}
		err := create(db, rows)
		return k.seen(threeTitles, &rows[0], &rows[1], &rows[2]), err
	}
}

func (k rowKind[T]) structPaths() []path[T] {
	return []path[T]{
		{"struct", k.one(func(db *gorm.DB, row *T) error { return db.Create(row).Error })},
		{"pointer to pointer", k.one(func(db *gorm.DB, row *T) error { return db.Create(&row).Error })},
		{"struct with key", func(db *gorm.DB) (map[string]types.ID, error) {
			row := k.make("a", preset)
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
			rows := []T{k.make("a", 0), k.make("b", preset), k.make("c", 0)}
			err := db.Create(&rows).Error
			return k.seen(threeTitles, &rows[0], &rows[1], &rows[2]), err
		}},
	}
}

func (k rowKind[T]) mapPaths() []path[T] {
	asKey := func(m map[string]any) types.ID { return keyOf(m["id"]) }
	return []path[T]{
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

func (k rowKind[T]) finisherPaths() []path[T] {
	ctx := context.Background()
	return []path[T]{
		{"CreateInBatches", k.three(func(db *gorm.DB, rows []T) error { return db.CreateInBatches(rows, 2).Error })},
		{"CreateInBatches pointer", k.three(func(db *gorm.DB, rows []T) error { return db.CreateInBatches(&rows, 2).Error })},
		{"CreateBatchSize", k.three(func(db *gorm.DB, rows []T) error {
			return db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&rows).Error
		})},
		{"Save", k.one(func(db *gorm.DB, row *T) error { return db.Save(row).Error })},
		{"Save with key", func(db *gorm.DB) (map[string]types.ID, error) {
			row := k.make("a", preset)
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
		{"generics Create", k.one(func(db *gorm.DB, row *T) error { return gorm.G[T](db).Create(ctx, row) })},
		{"generics CreateInBatches", k.three(func(db *gorm.DB, rows []T) error {
			return gorm.G[T](db).CreateInBatches(ctx, &rows, 2)
		})},
		{"generics OnConflict", k.one(func(db *gorm.DB, row *T) error {
			return gorm.G[T](db, clause.OnConflict{DoNothing: true}).Create(ctx, row)
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
		{"Table", k.one(func(db *gorm.DB, row *T) error { return db.Table(k.name).Create(row).Error })},
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
}

// keyOf reads a key in any of the forms that maps and rows hold.
func keyOf(v any) types.ID {
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
