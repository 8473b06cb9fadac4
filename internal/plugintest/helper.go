package plugintest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A worker may be live only once in a process, so all tests share it.
var sharedGenerator = sync.OnceValues(func() (*snowflake.Generator, error) {
	return snowflake.New(snowflake.Static(3, 21))
})

func NewPlugin(t testing.TB) *gormflake.Plugin {
	t.Helper()
	gen, err := sharedGenerator()
	if err != nil {
		t.Fatal(err)
	}
	return gormflake.New(gen)
}

// each runs the test on every database, with the plugin registered.
func Each(t *testing.T, test func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Use(t, db, NewPlugin(t))
		test(t, db)
	})
}

func Use(t testing.TB, db *gorm.DB, p gorm.Plugin) {
	t.Helper()
	if err := db.Use(p); err != nil {
		t.Fatal(err)
	}
}

func Migrate(t testing.TB, db *gorm.DB, models ...any) {
	t.Helper()
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
}

func Must(t testing.TB, tx *gorm.DB) {
	t.Helper()
	if tx.Error != nil {
		t.Fatal(tx.Error)
	}
}

func Count(t testing.TB, db *gorm.DB, model any) int64 {
	t.Helper()
	var n int64
	Must(t, db.Model(model).Count(&n))
	return n
}

// counter is a generator whose IDs a test can foresee: 1001, 1002 and so on.
type Counter struct {
	mu    sync.Mutex
	Last  types.ID
	Calls int
	Err   error
}

func (c *Counter) Fill(_ context.Context, dst []types.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Calls++
	if c.Err != nil {
		return c.Err
	}
	for i := range dst {
		c.Last = max(c.Last, 1000) + 1
		dst[i] = c.Last
	}
	return nil
}

// dummy opens a database that builds statements and runs none.
func Dummy(t testing.TB, config *gorm.Config) *gorm.DB {
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

// dry returns a session that builds statements and has no database.
func Dry(t testing.TB, p gorm.Plugin) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if p != nil {
		Use(t, db, p)
	}
	return db
}

// failing makes so many IDs and then fails. With skip it leaves the last
// element of each call out.
type failing struct {
	Counter
	left int
	skip bool
}

func (f *failing) Fill(ctx context.Context, dst []types.ID) error {
	if f.left -= len(dst); f.left < 0 {
		return ErrInjected
	}
	if f.skip {
		dst = dst[:len(dst)-1]
	}
	return f.Counter.Fill(ctx, dst)
}

var DiscardLog = slog.New(slog.DiscardHandler)
