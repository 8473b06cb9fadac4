package gormflake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// other is a plugin that registers one create callback, as replica resolvers,
// sharding and tracing do.
type other struct {
	name     string
	register func(db *gorm.DB, name string, fn func(*gorm.DB)) error
}

func (o other) Name() string { return o.name }

func (o other) Initialize(db *gorm.DB) error {
	return o.register(db, o.name, func(*gorm.DB) {})
}

var others = []other{
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

// sees records whether the key is there when gorm:before_create is due.
type sees struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Seen bool     `gorm:"-"`
}

func (s *sees) BeforeCreate(*gorm.DB) error { s.Seen = s.ID != 0; return nil }

// In whatever order plugins come, and whatever is switched off, keys are there
// before the user's hooks, and serial numbers after the keys of other rows.
func TestRegistrationOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		skipTx := seed%2 == 0
		db := open(t, &gorm.Config{SkipDefaultTransaction: skipTx, DryRun: true})
		plugins := []gorm.Plugin{gormflake.New(newLayoutCounter())}
		for _, o := range others {
			plugins = append(plugins, o)
		}
		random.Shuffle(len(plugins), func(i, j int) { plugins[i], plugins[j] = plugins[j], plugins[i] })
		for _, p := range plugins {
			use(t, db, p)
		}
		hooks := seed%3 != 0
		if !hooks {
			if err := db.Callback().Create().Remove("gorm:before_create"); err != nil {
				t.Fatal(err)
			}
		}
		row := sees{}
		tx := db.Create(&row)
		must(t, tx)
		if row.Seen != hooks || !slices.Contains(tx.Statement.Vars, any(types.ID(1001))) {
			t.Fatalf("seed %d: row = %+v, values %v", seed, row, tx.Statement.Vars)
		}
		shared := profile{Account: account{Name: "a"}}
		tx = db.Create(&shared)
		must(t, tx)
		if number := numbers("PAY").Format(1003); shared.AccountID != 1003 || shared.Number != number || !slices.Contains(tx.Statement.Vars, any(number)) {
			t.Fatalf("seed %d: row = %+v, values %v", seed, shared, tx.Statement.Vars)
		}
	}
}

func open(t testing.TB, config *gorm.Config) *gorm.DB {
	t.Helper()
	if config.Logger == nil {
		config.Logger = logger.Discard
	}
	db, err := gorm.Open(tests.DummyDialector{}, config)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestUseTwice(t *testing.T) {
	t.Parallel()
	db := dry(t, gormflake.New(&counter{}))
	if err := db.Use(gormflake.New(&counter{})); !errors.Is(err, gorm.ErrRegistered) {
		t.Errorf("err = %v, want %v", err, gorm.ErrRegistered)
	}
}

func TestConfigPlugins(t *testing.T) {
	t.Parallel()
	p := gormflake.New(&counter{})
	db := open(t, &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Plugins: map[string]gorm.Plugin{p.Name(): p}})
	row := book{}
	must(t, db.Create(&row))
	if row.ID != 1001 {
		t.Errorf("key = %d", row.ID)
	}
}

// Resolvers of replicas initialise the plugins again, for every connection and
// also for the same one.
func TestInitializeAgain(t *testing.T) {
	t.Parallel()
	gen := &counter{}
	p := gormflake.New(gen)
	rec := &recorder{Interface: logger.Discard}
	config := &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Logger: rec}
	dbs := []*gorm.DB{open(t, config)}
	use(t, dbs[0], p)
	for range 3 {
		replica := *dbs[0].Config // as the resolver does it: the plugins come along
		dbs = append(dbs, open(t, &replica))
	}
	for range 3 {
		for _, db := range dbs {
			if err := p.Initialize(db); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, db := range dbs {
		row := book{}
		must(t, db.Create(&row))
		if row.ID != types.ID(1001+i) || gen.calls != i+1 {
			t.Errorf("database %d: key %d after %d calls", i, row.ID, gen.calls)
		}
	}
	if warnings := rec.warnings(); len(warnings) != 0 {
		t.Errorf("GORM warns: %q", warnings)
	}
}

// The last plugin initialised is the one that fills.
func TestInitializeReplaces(t *testing.T) {
	t.Parallel()
	first, second := &counter{}, &counter{}
	db := dry(t, gormflake.New(first))
	if err := gormflake.New(second).Initialize(db); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&book{}))
	if first.calls != 0 || second.calls != 1 {
		t.Errorf("calls = %d, %d", first.calls, second.calls)
	}
}

func TestConcurrentFirstUse(t *testing.T) {
	t.Parallel()
	db := dry(t, newPlugin(t))
	keys := make([]types.ID, 32)
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			row := kinds{}
			tree := catalog{Entries: []entry{{}, {}}}
			errs[i] = errors.Join(db.Create(&row).Error, db.Create(&tree).Error)
			keys[i] = row.ID
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	distinct(t, keys)
}

// The parsed schema is shared by all sessions of the program.
func TestSchemaUntouched(t *testing.T) {
	t.Parallel()
	before, after := dry(t, nil), dry(t, gormflake.New(&counter{}))
	must(t, after.Create(&defaultedKey{}))
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

type defaultedKey struct {
	ID int64 `snowflake:"pk"`
}
