// Package gormflaketest provides generators for the tests of applications. A test can
// predict their keys.
//
//	err := db.Use(gormflake.New(gormflaketest.New()))
//
// The keys are unique only in the process that generates them. Never use such a generator
// with a database to which other programs write.
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

// Counter is the generator that [New] returns. It is safe for concurrent use.
type Counter struct {
	mu   sync.Mutex
	last map[string]types.ID // the last number of each table; "" is the count of Fill
}

// New returns a generator that counts 1, 2, 3 and so on in each table, as an empty
// database with auto-increment does. After a test has created a row with its own key, the
// generator continues after that key. Keys and columns tagged snowflake:"id" of a table
// share one count. Serial numbers have the format of [snowflake.TwitterLayout].
func New() *Counter { return &Counter{last: map[string]types.ID{}} }

// Fill sets dst to the next numbers of a count that is separate from every table's count. It
// implements [gormflake.Generator].
func (c *Counter) Fill(ctx context.Context, dst []types.ID) error { return c.FillTable(ctx, "", dst) }

// FillTable sets dst to the next numbers of the table's count. It never fails. It implements
// [gormflake.TableGenerator].
func (c *Counter) FillTable(_ context.Context, table string, dst []types.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range dst {
		c.last[table]++
		dst[i] = c.last[table]
	}
	return nil
}

// Observe makes the table's count continue after id, unless the count is beyond id already. The
// plugin calls it for rows that are created with a key. Call it for rows that a test has
// inserted by SQL. It implements [gormflake.TableGenerator].
func (c *Counter) Observe(table string, id types.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[table] = max(c.last[table], id)
}

// Layout returns [snowflake.TwitterLayout], for serial numbers.
func (*Counter) Layout() snowflake.Layout { return snowflake.TwitterLayout() }

// List is the generator that [Keys] returns. It is safe for concurrent use.
type List struct {
	mu  sync.Mutex
	ids []types.ID // the IDs that Fill has not returned yet
}

// Keys returns a generator that returns these IDs in this order, for all tables together.
// It returns an error when a statement needs more IDs than are left.
func Keys(ids ...types.ID) *List { return &List{ids: slices.Clone(ids)} }

// Fill sets dst to the next IDs of the list. If too few are left, it returns an error and
// keeps the IDs for a later call. It implements [gormflake.Generator].
func (l *List) Fill(_ context.Context, dst []types.ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) < len(dst) {
		return fmt.Errorf("gormflaketest: %d keys are left, and a statement needs %d: want more in Keys", len(l.ids), len(dst))
	}
	l.ids = l.ids[copy(dst, l.ids):] // copy returns len(dst)
	return nil
}

// Layout returns [snowflake.TwitterLayout], for serial numbers.
func (*List) Layout() snowflake.Layout { return snowflake.TwitterLayout() }
