package plugintest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type assignAuto struct {
	ID    uint
	Parts []assignPart `gorm:"foreignKey:AutoID"`
}

type assignPart struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	AutoID uint
	Auto   *assignAuto
}

type assignNarrow struct {
	ID       types.ID            `gorm:"primaryKey" snowflake:"pk"`
	Children []assignNarrowChild `gorm:"foreignKey:NarrowID"`
}

type assignNarrowChild struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	NarrowID int32
}

type assignTimed struct {
	ID       types.ID           `gorm:"primaryKey" snowflake:"pk"`
	Children []assignTimedChild `gorm:"foreignKey:TimedID"`
}

type assignTimedChild struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TimedID time.Time
}

type assignWord struct {
	Word     string            `gorm:"primaryKey"`
	Children []assignWordChild `gorm:"foreignKey:Word"`
}

type assignWordChild struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Word int64
}

type assignBadTag struct {
	ID    types.ID        `gorm:"primaryKey" snowflake:"pk"`
	Inner *assignBadInner `gorm:"foreignKey:OuterID"`
}

type assignBadInner struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"primary"`
	OuterID types.ID
}

type assignUntagged struct {
	ID    int64
	Lines []assignUntaggedLine `gorm:"foreignKey:OrderID"`
}

type assignUntaggedLine struct{ ID, OrderID int64 }

func TestAssignRejects(t *testing.T) {
	t.Parallel()
	var none *assignOrder
	var boxed any = &assignOrder{}
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"nil", nil, "Assign: got <nil>: want a pointer to a struct or slice"},
		{"nil pointer", none, "Assign: got a nil *plugintest.assignOrder: want a pointer to a struct or slice"},
		{"struct", assignOrder{}, "got plugintest.assignOrder, a copy that cannot be set: want a pointer to it"},
		{"array", [1]assignOrder{}, "got [1]plugintest.assignOrder, a copy that cannot be set: want a pointer to it"},
		{"map", map[string]any{"name": "x"}, "got map[string]interface {}: want a pointer to a struct or slice"},
		{"maps", &[]map[string]any{{}}, "got *[]map[string]interface {}: want a pointer to a struct or slice"},
		{"interface", &boxed, "got *interface {}: want a pointer to a struct or slice"},
		{"interfaces", []any{boxed}, "got []interface {}: want a pointer to a struct or slice"},
		{"number", new(int), "got *int: want a pointer to a struct or slice"},
		{"no tag", &assignUntagged{}, `Assign: model assignUntagged and its relations have no tagged field: tag the key with snowflake:"pk"`},
		{"no model", &struct{ C chan int }{}, "Assign: model struct { C chan int }: "},
		{"nil element", []*assignOrder{{}, nil}, "Assign: assignOrder: element 1 is nil: remove it"},
		{"nil child", &assignOrder{Lines: []*assignLine{nil}}, "Assign: assignOrder.Lines: element 0 is nil: remove it"},
		{"nil child of a parent", &assignLine{Order: &assignOrder{Lines: []*assignLine{nil}}}, "Assign: assignOrder.Lines: element 0 is nil: remove it"},
		{"auto-increment parent", &assignAuto{Parts: make([]assignPart, 1)}, `Assign: assignAuto.Parts: assignAuto.ID is unset and not tagged, so assignPart.AutoID cannot be linked: insert that row first, or tag the field with snowflake:"pk"`},
		{"auto-increment belongs-to", &assignPart{Auto: &assignAuto{}}, "assignPart.Auto: assignAuto.ID is unset and not tagged"},
		{"unset word", &assignWord{Children: make([]assignWordChild, 1)}, "assignWord.Word is unset and not tagged"},
		{"unset part of a chain", &assignRevision{Blobs: make([]assignBlob, 1)}, "assignRevision.TenantID is unset and not tagged"},
		{"chain without its start", &assignExtension{Parts: make([]assignExtensionPart, 1)}, "assignExtension.OrderID is unset and not tagged"},
		{"word into number", &assignWord{Word: "x", Children: make([]assignWordChild, 1)}, "Assign: assignWord.Children: set assignWordChild.Word: "},
		{"narrow foreign key", &assignNarrow{}, "gormflake: model assignNarrowChild, field NarrowID, foreign key to assignNarrow: type int32 has 32 bits, an ID needs 64"},
		{"foreign key of no use", &assignTimed{}, "gormflake: model assignTimedChild, field TimedID, foreign key to assignTimed: type time.Time cannot hold an ID"},
		{"bad tag", &assignBadTag{}, `gormflake: model assignBadInner, field ID, tag snowflake:"primary"`},
	}
	db := noDatabase(t, newAssignGenerator())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := gormflake.Assign(db, test.value)
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant …%s…", err, test.want)
			}
		})
	}
}

func TestAssignAcceptsStoredParents(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	parent := assignAuto{ID: 3, Parts: make([]assignPart, 1)}
	child := assignPart{Auto: &assignAuto{ID: 4}}
	unlinked := []any{&assignAuto{}, &assignPart{}}
	assignOrFail(t, db, &parent)
	assignOrFail(t, db, &child)
	for _, v := range unlinked {
		assignOrFail(t, db, v)
	}
	if parent.Parts[0].AutoID != 3 || child.AutoID != 4 {
		t.Errorf("parts of %v and %v, want 3 and 4", parent.Parts[0].AutoID, child.AutoID)
	}
	// One zero column of a composite key is a value.
	doc := assignDoc{Revisions: make([]assignRevision, 1)}
	assignOrFail(t, db, &doc)
	if doc.Revisions[0].DocID != doc.ID {
		t.Errorf("revision of %v, want %v", doc.Revisions[0].DocID, doc.ID)
	}
}

func TestAssignWithoutPlugin(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	bare := db.Session(&gorm.Session{})
	bare.Config = &gorm.Config{}
	err := gormflake.Assign(bare, &assignOrder{})
	if err == nil || !strings.Contains(err.Error(), "plugin is not registered") {
		t.Errorf("got %v, want that the plugin is not registered", err)
	}
}

// After any failure the tree is unchanged.
func TestAssignAllOrNothing(t *testing.T) {
	t.Parallel()
	for block := range 3 {
		gen := newAssignGenerator()
		gen.reject = func(n int) error {
			if n == block {
				return errAssignRejected
			}
			return nil
		}
		orders := newAssignOrders(2)
		before := assignText(t, orders)
		err := gormflake.Assign(noDatabase(t, gen), orders)
		if !errors.Is(err, errAssignRejected) {
			t.Errorf("block %d: got %v, want the generator's error", block, err)
		}
		if after := assignText(t, orders); after != before {
			t.Errorf("block %d: the tree changed to\n%s", block, after)
		}
	}
	words := []assignWord{
		{Word: "1", Children: make([]assignWordChild, 1)},
		{Word: "x", Children: make([]assignWordChild, 1)},
	}
	before := assignText(t, words)
	if err := gormflake.Assign(noDatabase(t, newAssignGenerator()), words); err == nil {
		t.Error("a word became a number")
	}
	if after := assignText(t, words); after != before {
		t.Errorf("the tree changed to\n%s", after)
	}
}

type assignContextKey struct{}

type assignContextGenerator struct{ got any }

func (g *assignContextGenerator) Fill(ctx context.Context, dst []types.ID) error {
	g.got = ctx.Value(assignContextKey{})
	dst[0] = 1
	return nil
}

func TestAssignPassesTheContextAndIgnoresSkip(t *testing.T) {
	t.Parallel()
	gen := &assignContextGenerator{}
	ctx := gormflake.Skip(context.WithValue(t.Context(), assignContextKey{}, "mine"))
	order := assignOrder{}
	assignOrFail(t, noDatabase(t, gen).WithContext(ctx), &order)
	if gen.got != "mine" || order.ID != 1 {
		t.Errorf("context value %v, key %v, want mine and 1", gen.got, order.ID)
	}
}

// meddler is a generator that changes rows between the two walks.
type meddler struct {
	LayoutCounter
	meddle func()
}

func (m *meddler) Fill(ctx context.Context, dst []types.ID) error {
	m.meddle()
	return m.LayoutCounter.Fill(ctx, dst)
}

// Rows that suddenly need more IDs are an error; none is left without a key or a
// serial number.
func TestRowsChangeDuringTheCall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		meddle func(rows []Payment)
	}{
		{"key", func(rows []Payment) { rows[2].ID = 0 }},
		{"number", func(rows []Payment) { rows[2].Number = ""; rows[2].ID = -1 }},
	} {
		rows := make([]Payment, 3)
		gen := &meddler{LayoutCounter: LayoutCounter{layout: snowflake.TwitterLayout()}, meddle: func() { test.meddle(rows) }}
		db := Dry(t, gormflake.New(gen))
		for _, how := range []struct {
			want string
			run  func() error
		}{
			{"gormflake: model Payment: the rows were modified concurrently: do not share them until Create returns", func() error { return db.Create(&rows).Error }},
			{"gormflake: Assign: the tree was modified concurrently: do not share it until Assign returns", func() error { return gormflake.Assign(db, rows) }},
		} {
			copy(rows, []Payment{{}, {ID: 5, Number: "x"}, {ID: 6, Number: "y"}})
			if err := how.run(); err == nil || err.Error() != how.want {
				t.Errorf("%s: err = %v, want %s", test.name, err, how.want)
			}
		}
	}
}
