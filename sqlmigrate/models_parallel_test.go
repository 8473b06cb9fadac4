package sqlmigrate_test

import (
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// Models that refer to each other in every way that GORM has: has many, belongs to, many
// to many and polymorphic.
type (
	yard struct {
		ID     int64
		Cranes []crane `gorm:"foreignKey:YardID"`
		Tags   []tagOf `gorm:"many2many:yard_tags"`
	}
	crane struct {
		ID     int64
		YardID int64
		Hooks  []hook `gorm:"foreignKey:CraneID"`
	}
	hook struct {
		ID      int64
		CraneID int64
		Crane   *crane  `gorm:"foreignKey:CraneID"`
		Tags    []tagOf `gorm:"polymorphic:Owner"`
	}
	tagOf struct {
		ID        int64
		OwnerID   int64
		OwnerType string
		Yards     []yard `gorm:"many2many:yard_tags"`
	}
)

// If goroutines use related models for the first time at once, each call of Inspect must
// find all references. This could fail because GORM adds relations to the schema of a
// model while it parses another model. Half of the goroutines parse the models as a
// program does, and the others look for references.
func TestModelsInParallel(t *testing.T) {
	t.Parallel()
	models := []any{&yard{}, &crane{}, &hook{}, &tagOf{}}
	one := sqlite(t)
	want, err := sqlmigrate.ModelReferences(one, models...)
	if err != nil || len(want) == 0 {
		t.Fatalf("references %q, %v", want, err)
	}
	for i := range 50 {
		db := unparsedHandle(one)
		var done sync.WaitGroup
		for n := range 8 {
			done.Go(func() {
				target := models[(n+i)%len(models)]
				if n%2 == 0 {
					stmt := &gorm.Statement{DB: db}
					if err := stmt.Parse(target); err != nil {
						t.Error(err)
					}
					return
				}
				got, err := sqlmigrate.ModelReferences(db, target)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("references of %T: %q, %v, want %q", target, got, err, want)
				}
			})
		}
		done.Wait()
	}
}

// unparsedHandle returns a handle that has not parsed any model.
func unparsedHandle(db *gorm.DB) *gorm.DB {
	again, err := gorm.Open(db.Dialector, &gorm.Config{ConnPool: db.ConnPool, DryRun: true})
	if err != nil {
		panic(err)
	}
	return again
}
