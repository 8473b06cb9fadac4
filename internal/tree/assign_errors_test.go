package tree_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// The models of these tests have keys that Assign cannot set (assignAuto, assignWord),
// foreign keys that cannot hold an ID (assignNarrow, assignTimed), and wrong or no tags.
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

// TestAssignRejects checks the errors for values that are no trees, for trees whose foreign
// keys Assign cannot set, and for wrong models.
func TestAssignRejects(t *testing.T) {
	t.Parallel()
	var none *plugintest.AssignOrder
	var boxed any = &plugintest.AssignOrder{}
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"nil", nil, "Assign: got <nil>: want a pointer to a struct or slice"},
		{"nil pointer", none, "Assign: got a nil *plugintest.AssignOrder: want a pointer to a struct or slice"},
		{"struct", plugintest.AssignOrder{}, "got plugintest.AssignOrder, a copy that cannot be set: want a pointer to it"},
		{"array", [1]plugintest.AssignOrder{}, "got [1]plugintest.AssignOrder, a copy that cannot be set: want a pointer to it"},
		{"map", map[string]any{"name": "x"}, "got map[string]interface {}: want a pointer to a struct or slice"},
		{"maps", &[]map[string]any{{}}, "got *[]map[string]interface {}: want a pointer to a struct or slice"},
		{"interface", &boxed, "got *interface {}: want a pointer to a struct or slice"},
		{"interfaces", []any{boxed}, "got []interface {}: want a pointer to a struct or slice"},
		{"number", new(int), "got *int: want a pointer to a struct or slice"},
		{"no tag", &assignUntagged{}, `Assign: model assignUntagged and its relations have no tagged field: tag the key with snowflake:"pk"`},
		{"no model", &struct{ C chan int }{}, "Assign: model struct { C chan int }: "},
		{"nil element", []*plugintest.AssignOrder{{}, nil}, "Assign: AssignOrder: element 1 is nil: remove it"},
		{"nil child", &plugintest.AssignOrder{Lines: []*plugintest.AssignLine{nil}}, "Assign: AssignOrder.Lines: element 0 is nil: remove it"},
		{"nil child of a parent", &plugintest.AssignLine{Order: &plugintest.AssignOrder{Lines: []*plugintest.AssignLine{nil}}}, "Assign: AssignOrder.Lines: element 0 is nil: remove it"},
		{"auto-increment parent", &assignAuto{Parts: make([]assignPart, 1)}, `Assign: assignAuto.Parts: assignAuto.ID is unset and not tagged, so assignPart.AutoID cannot be linked: insert that row first, or tag the field with snowflake:"pk"`},
		{"auto-increment belongs-to", &assignPart{Auto: &assignAuto{}}, "assignPart.Auto: assignAuto.ID is unset and not tagged"},
		{"unset word", &assignWord{Children: make([]assignWordChild, 1)}, "assignWord.Word is unset and not tagged"},
		{"unset part of a chain", &assignRevision{Blobs: make([]assignBlob, 1)}, "assignRevision.TenantID is unset and not tagged"},
		{"chain without its start", &assignExtension{Parts: make([]assignExtensionPart, 1)}, "assignExtension.OrderID is unset and not tagged"},
		{"word into number", &assignWord{Word: "x", Children: make([]assignWordChild, 1)}, "Assign: assignWord.Children: set assignWordChild.Word: "},
		{"narrow foreign key", &assignNarrow{Children: make([]assignNarrowChild, 1)}, "gormflake: Assign: model assignNarrowChild, field NarrowID, foreign key to assignNarrow: type int32 has 32 bits, an ID needs 64"},
		{"foreign key of no use", &assignTimed{Children: make([]assignTimedChild, 1)}, "gormflake: Assign: model assignTimedChild, field TimedID, foreign key to assignTimed: type time.Time cannot hold an ID"},
		{"bad tag", &assignBadTag{}, `gormflake: model assignBadInner, field ID, tag snowflake:"primary"`},
	}
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
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

// TestAssignAcceptsStoredParents checks that Assign sets foreign keys to a parent whose key
// has no tag but is set, as after its INSERT.
func TestAssignAcceptsStoredParents(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	parent := assignAuto{ID: 3, Parts: make([]assignPart, 1)}
	child := assignPart{Auto: &assignAuto{ID: 4}}
	unlinked := []any{&assignAuto{}, &assignPart{}} // rows without related rows
	plugintest.AssignOrFail(t, db, &parent)
	plugintest.AssignOrFail(t, db, &child)
	for _, v := range unlinked {
		plugintest.AssignOrFail(t, db, v)
	}
	if parent.Parts[0].AutoID != 3 || child.AutoID != 4 {
		t.Errorf("parts of %v and %v, want 3 and 4", parent.Parts[0].AutoID, child.AutoID)
	}
	// One zero column of a composite key is valid.
	doc := assignDoc{Revisions: make([]assignRevision, 1)}
	plugintest.AssignOrFail(t, db, &doc)
	if doc.Revisions[0].DocID != doc.ID {
		t.Errorf("revision of %v, want %v", doc.Revisions[0].DocID, doc.ID)
	}
}

// TestAssignWithoutPlugin checks the error for a handle without the plugin.
func TestAssignWithoutPlugin(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	bare := db.Session(&gorm.Session{}) // gets a new Config, which has no plugins
	bare.Config = &gorm.Config{Dialector: db.Dialector}
	err := gormflake.Assign(bare, &plugintest.AssignOrder{})
	if err == nil || !strings.Contains(err.Error(), "plugin is not registered") {
		t.Errorf("got %v, want that the plugin is not registered", err)
	}
}

// TestAssignAllOrNothing checks that the tree is unchanged if a generator fails, for
// whichever model, or if a value cannot be converted to a foreign key.
func TestAssignAllOrNothing(t *testing.T) {
	t.Parallel()
	for block := range 3 { // one for each of the models, which are orders, lines and serials
		gen := plugintest.NewAssignGenerator()
		gen.Reject = func(n int) error {
			if n == block {
				return errAssignRejected
			}
			return nil
		}
		orders := plugintest.NewAssignOrders(2)
		before := plugintest.AssignText(t, orders)
		err := gormflake.Assign(plugintest.NoDatabase(t, gen), orders)
		if !errors.Is(err, errAssignRejected) {
			t.Errorf("block %d: got %v, want the generator's error", block, err)
		}
		if after := plugintest.AssignText(t, orders); after != before {
			t.Errorf("block %d: the tree changed to\n%s", block, after)
		}
	}
	words := []assignWord{
		{Word: "1", Children: make([]assignWordChild, 1)},
		{Word: "x", Children: make([]assignWordChild, 1)},
	}
	before := plugintest.AssignText(t, words)
	if err := gormflake.Assign(plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), words); err == nil {
		t.Error("a word became a number")
	}
	if after := plugintest.AssignText(t, words); after != before {
		t.Errorf("the tree changed to\n%s", after)
	}
}

type assignContextKey struct{}

// assignContextGenerator records the value of assignContextKey, and generates the ID 1.
type assignContextGenerator struct{ got any }

func (g *assignContextGenerator) Fill(ctx context.Context, dst []types.ID) error {
	g.got = ctx.Value(assignContextKey{})
	dst[0] = 1
	return nil
}

// TestAssignPassesTheContextAndIgnoresSkip checks that the generator gets the context of
// the handle, and that Assign sets keys although this context is of Skip.
func TestAssignPassesTheContextAndIgnoresSkip(t *testing.T) {
	t.Parallel()
	gen := &assignContextGenerator{}
	ctx := gormflake.Skip(context.WithValue(t.Context(), assignContextKey{}, "mine"))
	order := plugintest.AssignOrder{}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, gen).WithContext(ctx), &order)
	if gen.got != "mine" || order.ID != 1 {
		t.Errorf("context value %v, key %v, want mine and 1", gen.got, order.ID)
	}
}

// TestRowsChangeDuringTheCall checks Create and Assign of rows that another goroutine
// changes while the generator runs, so that they need more IDs than were asked for. Both
// must return an error, and not leave a row without a key or a serial number.
func TestRowsChangeDuringTheCall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		meddle func(rows []plugintest.Payment)
	}{
		{"key", func(rows []plugintest.Payment) { rows[2].ID = 0 }},
		{"number", func(rows []plugintest.Payment) { rows[2].Number = ""; rows[2].ID = -1 }},
	} {
		rows := make([]plugintest.Payment, 3)
		gen := &plugintest.Meddler{LayoutCounter: plugintest.LayoutCounter{IDLayout: snowflake.TwitterLayout()}, Meddle: func() { test.meddle(rows) }}
		db := plugintest.Dry(t, gormflake.New(gen))
		for _, how := range []struct {
			want string
			run  func() error
		}{
			{"gormflake: model Payment: the rows were modified concurrently: do not share them until Create returns", func() error { return db.Create(&rows).Error }},
			{"gormflake: Assign: the tree was modified concurrently: do not share it until Assign returns", func() error { return gormflake.Assign(db, rows) }},
		} {
			copy(rows, []plugintest.Payment{{}, {ID: 5, Number: "x"}, {ID: 6, Number: "y"}})
			if err := how.run(); err == nil || err.Error() != how.want {
				t.Errorf("%s: err = %v, want %s", test.name, err, how.want)
			}
		}
	}
}
