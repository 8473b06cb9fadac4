package sqlmigrate_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/types"
)

// The models of a program before the move, and the models of the same tables after it.
type (
	beforeOrder struct {
		ID    int32        `gorm:"primaryKey;autoIncrement"`
		Lines []beforeLine `gorm:"foreignKey:OrderID"`
	}
	beforeLine struct {
		ID      int32 `gorm:"primaryKey;autoIncrement"`
		OrderID int32 `gorm:"not null;index"`
	}
	afterOrder struct {
		ID    types.ID    `gorm:"primaryKey" snowflake:"pk"`
		Lines []afterLine `gorm:"foreignKey:OrderID"`
	}
	afterLine struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OrderID types.ID `gorm:"not null;index"`
	}
)

func (beforeOrder) TableName() string { return "orders" }
func (beforeLine) TableName() string  { return "lines" }
func (afterOrder) TableName() string  { return "orders" }
func (afterLine) TableName() string   { return "lines" }

// After Apply, a program can use models with Snowflake keys. AutoMigrate does not change
// the schema, gormflake.Check passes, and the program can create orders, and new lines of
// old orders. Before Apply, Check fails and names sqlmigrate.
func TestAfterApply(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		old := &beforeOrder{Lines: []beforeLine{{}, {}}}
		if err := db.AutoMigrate(&beforeOrder{}, &beforeLine{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Create(old).Error; err != nil {
			t.Fatal(err)
		}
		gen := openPlugin(t, db)
		if err := gormflake.Check(db, &afterOrder{}, &afterLine{}); err == nil || !strings.Contains(err.Error(), "sqlmigrate") {
			t.Errorf("Check before: %v, want an error that names sqlmigrate", err)
		}
		plan := migratetest.MustInspect(t, db, &afterOrder{}, &afterLine{})
		if err := plan.Apply(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		changes := new(changeLog)
		if err := db.Session(&gorm.Session{Logger: changes}).AutoMigrate(&afterOrder{}, &afterLine{}); err != nil {
			t.Error(err)
		}
		if len(changes.statements) > 0 {
			t.Errorf("AutoMigrate after: %q, want no change", changes.statements)
		}
		if err := gormflake.Check(db, &afterOrder{}, &afterLine{}); err != nil {
			t.Errorf("Check after: %v", err)
		}
		order := &afterOrder{Lines: []afterLine{{}, {}}}
		if err := db.Create(order).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&afterLine{OrderID: types.ID(old.ID)}).Error; err != nil {
			t.Errorf("a new line of an old order: %v", err)
		}
		if gen.Layout().Time(order.ID).Before(time.Now().Add(-time.Minute)) || order.Lines[0].OrderID != order.ID {
			t.Errorf("order %+v", order)
		}
	})
}

// openPlugin opens the plugin on db, and returns its generator, which is closed at the end
// of the test.
func openPlugin(t *testing.T, db *gorm.DB) *snowflake.Generator {
	t.Helper()
	gen, err := gormflake.Open(t.Context(), db, gormflake.WithLease(lease.WithLogger(slog.New(slog.DiscardHandler))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gen.Close(context.Background()) })
	return gen
}

// A changeLog is a logger of GORM that collects the statements that write to the
// database.
type changeLog struct {
	mu         sync.Mutex
	statements []string
}

// change matches a statement that changes the schema or rows.
var change = regexp.MustCompile(`(?i)^\s*(ALTER|CREATE|DROP|INSERT|UPDATE)\b`)

func (c *changeLog) LogMode(logger.LogLevel) logger.Interface { return c }
func (c *changeLog) Info(context.Context, string, ...any)     {}
func (c *changeLog) Warn(context.Context, string, ...any)     {}
func (c *changeLog) Error(context.Context, string, ...any)    {}

// Trace records the statement if it changes the schema or rows.
func (c *changeLog) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sql, _ := fc(); change.MatchString(sql) {
		c.statements = append(c.statements, sql)
	}
}
