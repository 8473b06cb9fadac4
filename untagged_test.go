package gormflake_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

// The models of this file have no tag: the plugin must not touch them.
type (
	plainBook struct {
		ID    uint
		Title string `gorm:"size:50;index"`
	}
	plainIDBook struct {
		ID    types.ID
		Title string `gorm:"size:50"`
	}
	plainAuthor struct {
		gorm.Model
		Name   string `gorm:"size:50;uniqueIndex"`
		State  string `gorm:"size:20;default:new"`
		Works  []plainWork
		Genres []plainGenre `gorm:"many2many:plain_author_genres"`
	}
	plainWork struct {
		ID            uint
		PlainAuthorID uint
		Title         string
	}
	plainGenre struct {
		ID   uint
		Name string
	}
)

var (
	plainBooks = rowKind[plainBook]{
		name: "plain_books",
		make: func(title string, id types.ID) plainBook { return plainBook{ID: uint(id), Title: title} },
		key:  func(b *plainBook) types.ID { return types.ID(b.ID) },
	}
	plainIDBooks = rowKind[plainIDBook]{
		name: "plain_id_books",
		make: func(title string, id types.ID) plainIDBook { return plainIDBook{ID: id, Title: title} },
		key:  func(b *plainIDBook) types.ID { return b.ID },
	}
)

// treePaths are creates that involve associations, selections and upserts.
func treePaths() []path[plainAuthor] {
	tree := func() *plainAuthor {
		return &plainAuthor{Name: "a", Works: []plainWork{{Title: "x"}, {Title: "y"}}, Genres: []plainGenre{{Name: "g"}}}
	}
	byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"state"})}
	run := func(create func(db *gorm.DB, a *plainAuthor) error) func(*gorm.DB) (map[string]types.ID, error) {
		return func(db *gorm.DB) (map[string]types.ID, error) { return nil, create(db, tree()) }
	}
	return []path[plainAuthor]{
		{"tree", run(func(db *gorm.DB, a *plainAuthor) error { return db.Create(a).Error })},
		{"trees", run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Create([]*plainAuthor{a, {Name: "b", Works: []plainWork{{Title: "z"}}}}).Error
		})},
		{"full save", run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Session(&gorm.Session{FullSaveAssociations: true}).Create(a).Error
		})},
		{"select", run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Select("Name", "Works", "Works.Title").Create(a).Error
		})},
		{"omit", run(func(db *gorm.DB, a *plainAuthor) error { return db.Omit("State", "Genres.*").Create(a).Error })},
		{"upsert", run(func(db *gorm.DB, a *plainAuthor) error { return db.Clauses(byName).Create(a).Error })},
		{"upsert all", run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(a).Error
		})},
		{"do nothing", run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(a).Error
		})},
		{"append", run(func(db *gorm.DB, a *plainAuthor) error {
			owner := &plainAuthor{Model: gorm.Model{ID: 9}}
			return db.Model(owner).Association("Works").Append(&a.Works)
		})},
	}
}

// Models without the tag produce the same SQL with and without the plugin.
func TestUntaggedModels(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &counter{}
		without := untaggedSQL(t, db)
		use(t, db, gormflake.New(gen))
		with := untaggedSQL(t, db)
		for name, sql := range without {
			if len(sql) < 2 || !slices.Equal(with[name], sql) {
				t.Errorf("%s: with the plugin\n%q\nwithout\n%q", name, with[name], sql)
			}
		}
		if gen.calls != 0 {
			t.Errorf("the generator was asked %d times", gen.calls)
		}
	})
}

func untaggedSQL(t *testing.T, db *gorm.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, path := range plainBooks.paths() {
		all["uint: "+path.name] = dryRun(t, db, path.run)
	}
	for _, path := range plainIDBooks.paths() {
		all["ID: "+path.name] = dryRun(t, db, path.run)
	}
	for _, path := range treePaths() {
		all["tree: "+path.name] = dryRun(t, db, path.run)
	}
	return all
}

// dryRun returns the statements that run builds, parameters included.
func dryRun(t *testing.T, db *gorm.DB, run func(*gorm.DB) (map[string]types.ID, error)) []string {
	t.Helper()
	rec := &recorder{Interface: logger.Discard}
	_, err := run(db.Session(&gorm.Session{DryRun: true, Logger: rec, NowFunc: func() time.Time { return time.Unix(0, 0).UTC() }}))
	statements := append(rec.statements(), "error: "+errorText(err))
	for i := range statements {
		statements[i] = savepoint.ReplaceAllString(statements[i], "SAVEPOINT")
	}
	return statements
}

// GORM gives savepoints random names.
var savepoint = regexp.MustCompile(`SAVEPOINT sp\d+`)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
