package gormflake_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// otherPlugin is a plugin of an application that registers a create callback at some
// position, as replica resolvers, sharding and tracing do.
type otherPlugin struct {
	name     string
	register func(db *gorm.DB, name string, fn func(*gorm.DB)) error
}

func (o otherPlugin) Name() string { return o.name }

func (o otherPlugin) Initialize(db *gorm.DB) error {
	return o.register(db, o.name, func(*gorm.DB) {})
}

// otherPlugins register callbacks at the positions that plugins of applications use.
var otherPlugins = []otherPlugin{
	{"resolver", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().Before("*").Register(name, fn)
	}},
	{"sharding", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().Before("gorm:before_create").Register(name, fn)
	}},
	{"trace before", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().Before("gorm:create").Register(name, fn)
	}},
	{"trace after", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().After("gorm:create").Register(name, fn)
	}},
	{"last", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().After("*").Register(name, fn)
	}},
	{"anywhere", func(db *gorm.DB, name string, fn func(*gorm.DB)) error {
		return db.Callback().Create().Register(name, fn)
	}},
}

// sees records whether the key is set when gorm:before_create runs.
type sees struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Seen bool     `gorm:"-"`
}

func (s *sees) BeforeCreate(*gorm.DB) error { s.Seen = s.ID != 0; return nil }

// badge has the key of its member, which GORM copies when it has saved the member.
type (
	badge struct {
		MemberID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Member   member
		Number   string `gorm:"size:40" snowflake:"serial=PAY"`
	}
	member struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
)

// TestRegistrationOrder registers the plugin and plugins of an application in 300 random
// orders, in some of them without GORM's callback that runs hooks. The keys must be set
// before hooks run. The serial number of a badge must be made from the key of its member. So
// the plugin must make that number just before the INSERT, because GORM saves the member,
// and copies its key to the badge, only after the hooks of the badge.
func TestRegistrationOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		skipTx := seed%2 == 0
		db := plugintest.Dummy(t, &gorm.Config{SkipDefaultTransaction: skipTx, DryRun: true})
		plugins := []gorm.Plugin{gormflake.New(plugintest.NewLayoutCounter())}
		for _, o := range otherPlugins {
			plugins = append(plugins, o)
		}
		random.Shuffle(len(plugins), func(i, j int) { plugins[i], plugins[j] = plugins[j], plugins[i] })
		for _, p := range plugins {
			plugintest.Use(t, db, p)
		}
		hooks := seed%3 != 0 // a third of the runs have no callback that runs hooks
		if !hooks {
			if err := db.Callback().Create().Remove("gorm:before_create"); err != nil {
				t.Fatal(err)
			}
		}
		row := sees{}
		tx := db.Create(&row)
		plugintest.Must(t, tx)
		if row.Seen != hooks || !slices.Contains(tx.Statement.Vars, any(types.ID(1001))) {
			t.Fatalf("seed %d: row = %+v, values %v", seed, row, tx.Statement.Vars)
		}
		// The plugin first gives the badge the key 1002. When GORM has saved the member,
		// it replaces this key by the member's key, 1003.
		shared := badge{Member: member{Name: "a"}}
		tx = db.Create(&shared)
		plugintest.Must(t, tx)
		if number := plugintest.Numbers("PAY").Format(1003); shared.MemberID != 1003 || shared.Number != number || !slices.Contains(tx.Statement.Vars, any(number)) {
			t.Fatalf("seed %d: row = %+v, values %v", seed, shared, tx.Statement.Vars)
		}
	}
}

// TestUseTwice checks that a second plugin on the same handle is an error.
func TestUseTwice(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	if err := db.Use(gormflake.New(&plugintest.Counter{})); !errors.Is(err, gorm.ErrRegistered) {
		t.Errorf("err = %v, want %v", err, gorm.ErrRegistered)
	}
}

// TestConfigPlugins checks that the plugin can also be registered by gorm.Config.
func TestConfigPlugins(t *testing.T) {
	t.Parallel()
	p := gormflake.New(&plugintest.Counter{})
	db := plugintest.Dummy(t, &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Plugins: map[string]gorm.Plugin{p.Name(): p}})
	row := plugintest.Book{}
	plugintest.Must(t, db.Create(&row))
	if row.ID != 1001 {
		t.Errorf("key = %d", row.ID)
	}
}

// TestInitializeAgain checks that the plugin can be initialized again, because replica
// resolvers initialize it for every connection, including the same connection.
func TestInitializeAgain(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{}
	p := gormflake.New(gen)
	rec := &plugintest.Recorder{Interface: logger.Discard}
	config := &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Logger: rec}
	dbs := []*gorm.DB{plugintest.Dummy(t, config)}
	plugintest.Use(t, dbs[0], p)
	for range 3 {
		replica := *dbs[0].Config // as a resolver does, which copies the plugins
		dbs = append(dbs, plugintest.Dummy(t, &replica))
	}
	for range 3 {
		for _, db := range dbs {
			if err := p.Initialize(db); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, db := range dbs {
		row := plugintest.Book{}
		plugintest.Must(t, db.Create(&row))
		if row.ID != types.ID(1001+i) || gen.Calls != i+1 {
			t.Errorf("database %d: key %d after %d calls", i, row.ID, gen.Calls)
		}
	}
	if warnings := rec.Warnings(); len(warnings) != 0 {
		t.Errorf("GORM warns: %q", warnings)
	}
}

// TestInitializeReplaces checks that the plugin that is initialized last fills the rows.
func TestInitializeReplaces(t *testing.T) {
	t.Parallel()
	first, second := &plugintest.Counter{}, &plugintest.Counter{}
	db := plugintest.Dry(t, gormflake.New(first))
	if err := gormflake.New(second).Initialize(db); err != nil {
		t.Fatal(err)
	}
	plugintest.Must(t, db.Create(&plugintest.Book{}))
	if first.Calls != 0 || second.Calls != 1 {
		t.Errorf("calls = %d, %d", first.Calls, second.Calls)
	}
}

// TestCallbacksWithoutOrder checks the error for a callback that must run after the
// INSERT and before the keys are set, which is impossible.
func TestCallbacksWithoutOrder(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, nil)
	if err := db.Callback().Create().After("gorm:create").Before("gormflake:fill").Register("app", func(*gorm.DB) {}); err != nil {
		t.Fatal(err)
	}
	err := db.Use(gormflake.New(&plugintest.Counter{}))
	if err == nil || !strings.Contains(err.Error(), "gormflake: register the callback gormflake:") {
		t.Errorf("err = %v", err)
	}
}

// TestSchemaUntouched checks that the plugin does not change a parsed schema, because all
// sessions of the program share it.
func TestSchemaUntouched(t *testing.T) {
	t.Parallel()
	before, after := plugintest.Dry(t, nil), plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	plugintest.Must(t, after.Create(&defaultedKey{}))
	text := func(db *gorm.DB) string {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(&defaultedKey{}); err != nil {
			t.Fatal(err)
		}
		s := stmt.Schema
		return fmt.Sprint(s.DBNames, s.PrimaryFieldDBNames, len(s.FieldsWithDefaultDBValue), s.PrioritizedPrimaryField.AutoIncrement,
			s.PrioritizedPrimaryField.HasDefaultValue, len(s.CreateClauses), s.FieldsByDBName["id"].TagSettings)
	}
	if got, want := text(after), text(before); got != want {
		t.Errorf("schema = %s, want %s", got, want)
	}
}

// defaultedKey has a key that GORM treats as auto-increment, so its schema has a field
// with a default.
type defaultedKey struct {
	ID int64 `snowflake:"pk"`
}

// diary records the keys that its hooks see.
type diary struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Saving types.ID `gorm:"-"`
	Making types.ID `gorm:"-"`
	Made   types.ID `gorm:"-"`
	Pages  []diaryPage
}

type diaryPage struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	DiaryID types.ID
	Making  types.ID `gorm:"-"`
}

func (d *diary) BeforeSave(*gorm.DB) error   { d.Saving = d.ID; return nil }
func (d *diary) BeforeCreate(*gorm.DB) error { d.Making = d.ID; return nil }
func (d *diary) AfterCreate(*gorm.DB) error  { d.Made = d.ID; return nil }

func (p *diaryPage) BeforeCreate(*gorm.DB) error { p.Making = p.ID; return nil }

// TestUserHooksSeeKeys checks that the hooks BeforeSave, BeforeCreate and AfterCreate of a
// row see the key of the row, and that the hook BeforeCreate of its children sees the key of
// the child.
func TestUserHooksSeeKeys(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &diary{}, &diaryPage{})
		diaries := []diary{{Pages: []diaryPage{{}, {}}}, {}}
		plugintest.Must(t, db.Create(&diaries))
		for _, d := range diaries {
			if d.ID == 0 || d.Saving != d.ID || d.Making != d.ID || d.Made != d.ID {
				t.Errorf("key %d, hooks saw %d, %d, %d", d.ID, d.Saving, d.Making, d.Made)
			}
		}
		for _, p := range diaries[0].Pages {
			if p.ID == 0 || p.Making != p.ID {
				t.Errorf("page key %d, hook saw %d", p.ID, p.Making)
			}
		}
	})
}

// These models have no tag, so the plugin must not change them.
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
	plainBooks = plugintest.RowKind{
		Model:    &plainBook{},
		Table:    "plain_books",
		Make:     func(title string, id types.ID) any { return &plainBook{ID: uint(id), Title: title} },
		Key:      func(row any) types.ID { return types.ID(row.(*plainBook).ID) },
		Generics: plugintest.GenericPaths[plainBook],
	}
	// An unset types.ID is an error, with and without the plugin. Make therefore uses the
	// first letter of the title as the key, if it gets none.
	plainIDBooks = plugintest.RowKind{
		Model: &plainIDBook{},
		Table: "plain_id_books",
		Make: func(title string, id types.ID) any {
			return &plainIDBook{ID: cmp.Or(id, types.ID(title[0])), Title: title}
		},
		Key: func(row any) types.ID { return row.(*plainIDBook).ID },
	}
)

// treePaths returns, by name, functions that create untagged rows with associations,
// selections and upserts. They return no keys, because the test compares only SQL.
func treePaths() map[string]func(*gorm.DB) (map[string]types.ID, error) {
	tree := func() *plainAuthor {
		return &plainAuthor{Name: "a", Works: []plainWork{{Title: "x"}, {Title: "y"}}, Genres: []plainGenre{{Name: "g"}}}
	}
	byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"state"})}
	run := func(create func(db *gorm.DB, a *plainAuthor) error) func(*gorm.DB) (map[string]types.ID, error) {
		return func(db *gorm.DB) (map[string]types.ID, error) { return nil, create(db, tree()) }
	}
	return map[string]func(*gorm.DB) (map[string]types.ID, error){
		"tree": run(func(db *gorm.DB, a *plainAuthor) error { return db.Create(a).Error }),
		"trees": run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Create([]*plainAuthor{a, {Name: "b", Works: []plainWork{{Title: "z"}}}}).Error
		}),
		"full save": run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Session(&gorm.Session{FullSaveAssociations: true}).Create(a).Error
		}),
		"select": run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Select("Name", "Works", "Works.Title").Create(a).Error
		}),
		"omit":   run(func(db *gorm.DB, a *plainAuthor) error { return db.Omit("State", "Genres.*").Create(a).Error }),
		"upsert": run(func(db *gorm.DB, a *plainAuthor) error { return db.Clauses(byName).Create(a).Error }),
		"upsert all": run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(a).Error
		}),
		"do nothing": run(func(db *gorm.DB, a *plainAuthor) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(a).Error
		}),
		"append": run(func(db *gorm.DB, a *plainAuthor) error {
			owner := &plainAuthor{Model: gorm.Model{ID: 9}}
			return db.Model(owner).Association("Works").Append(&a.Works)
		}),
	}
}

// TestUntaggedModels checks that creates of models without a tag send the same SQL with
// and without the plugin.
func TestUntaggedModels(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &plugintest.Counter{}
		without := untaggedSQL(t, db)
		plugintest.Use(t, db, gormflake.New(gen))
		with := untaggedSQL(t, db)
		for name, sql := range without {
			// The last element is the error, so there is at least one statement.
			if len(sql) < 2 || !slices.Equal(with[name], sql) {
				t.Errorf("%s: with the plugin\n%q\nwithout\n%q", name, with[name], sql)
			}
		}
		if gen.Calls != 0 {
			t.Errorf("the generator was asked %d times", gen.Calls)
		}
	})
}

// untaggedSQL returns the statements of each way (path) to create rows of the untagged
// models, by the name of the path.
func untaggedSQL(t *testing.T, db *gorm.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, path := range plainBooks.Paths() {
		all["uint: "+path.Name] = dryRun(t, db, path.Run)
	}
	// The paths from maps are left out, because they set no key, and an unset types.ID is an
	// error.
	for _, path := range append(plainIDBooks.StructPaths(), plainIDBooks.FinisherPaths()...) {
		all["ID: "+path.Name] = dryRun(t, db, path.Run)
	}
	for name, run := range treePaths() {
		all["tree: "+name] = dryRun(t, db, run)
	}
	return all
}

// dryRun returns the statements that run builds, with their parameters, and its error. The
// clock stands still, so that time stamps are equal.
func dryRun(t *testing.T, db *gorm.DB, run func(*gorm.DB) (map[string]types.ID, error)) []string {
	t.Helper()
	rec := &plugintest.Recorder{Interface: logger.Discard}
	_, err := run(db.Session(&gorm.Session{DryRun: true, Logger: rec, NowFunc: func() time.Time { return time.Unix(0, 0).UTC() }}))
	statements := append(rec.Statements(), "error: "+errorText(err))
	for i := range statements {
		statements[i] = savepoint.ReplaceAllString(statements[i], "SAVEPOINT")
	}
	return statements
}

// savepoint matches a savepoint, to which GORM gives a random name.
var savepoint = regexp.MustCompile(`SAVEPOINT sp\d+`)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
