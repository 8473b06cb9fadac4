// Package gormflaketest has generators for the tests of applications, whose keys a
// test can foresee:
//
//	err := db.Use(gormflake.New(gormflaketest.New()))
//
// They are unique in the process that uses them, and nowhere else: never let one
// write to a database that other programs write to.
package gormflaketest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

var (
	_ gormflake.TableGenerator = (*Counter)(nil)
	_ gormflake.Generator      = (*List)(nil)
)

// Counter is what [New] returns. It is safe for concurrent use.
type Counter struct {
	mu   sync.Mutex
	last map[string]types.ID // by table
}

// New returns a generator that counts as an empty database with auto-increment
// does: 1, 2, 3 and so on in each table. It continues after a key that a test sets
// itself. A column tagged snowflake:"id" takes its numbers from the same count, and
// serial numbers are those of [snowflake.TwitterLayout].
func New() *Counter { return &Counter{last: map[string]types.ID{}} }

// Fill implements [gormflake.Generator]. It counts apart from every table.
func (c *Counter) Fill(ctx context.Context, dst []types.ID) error { return c.FillTable(ctx, "", dst) }

// FillTable implements [gormflake.TableGenerator].
func (c *Counter) FillTable(_ context.Context, table string, dst []types.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range dst {
		c.last[table]++
		dst[i] = c.last[table]
	}
	return nil
}

// Observe implements [gormflake.TableGenerator]. Call it for rows that a test has
// inserted by SQL.
func (c *Counter) Observe(table string, id types.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[table] = max(c.last[table], id)
}

// Layout returns [snowflake.TwitterLayout], for serial numbers.
func (*Counter) Layout() snowflake.Layout { return snowflake.TwitterLayout() }

// List is what [Keys] returns. It is safe for concurrent use.
type List struct {
	mu  sync.Mutex
	ids []types.ID
}

// Keys returns a generator of these IDs, in this order and whatever the table. When
// none is left, it fails.
func Keys(ids ...types.ID) *List { return &List{ids: slices.Clone(ids)} }

// Fill implements [gormflake.Generator]. If too few IDs are left, it takes none.
func (l *List) Fill(_ context.Context, dst []types.ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) < len(dst) {
		return fmt.Errorf("gormflaketest: %d keys are left, and a statement needs %d: want more in Keys", len(l.ids), len(dst))
	}
	l.ids = l.ids[copy(dst, l.ids):]
	return nil
}

// Layout returns [snowflake.TwitterLayout], for serial numbers.
func (*List) Layout() snowflake.Layout { return snowflake.TwitterLayout() }
