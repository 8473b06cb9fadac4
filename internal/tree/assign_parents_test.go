package tree_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestAssignRejectsTwoParents checks that two parents that share a row are an error, and
// that no key is set.
func TestAssignRejectsTwoParents(t *testing.T) {
	t.Parallel()
	// In each tree, two parents share some of these rows.
	line, comments, serials := &plugintest.AssignLine{}, make([]assignComment, 1), make([]plugintest.AssignSerial, 3)
	cards := make([]assignCard, 2)
	profile, child, aliased := &plugintest.AssignProfile{}, &assignNode{}, make([]plugintest.BenchLine, 5)
	flagship := &assignShip{}
	players, last := make([]assignPlayer, 1), &plugintest.AssignOrder{}
	last.Lines = []*plugintest.AssignLine{line, {Order: last}}
	const fix = ": give each parent its own copy" // the fix in the error
	tests := []struct {
		name string
		tree any
		want string
	}{
		{
			"pointer",
			[]*plugintest.AssignOrder{{Lines: []*plugintest.AssignLine{{}, line}}, {}, {Lines: []*plugintest.AssignLine{line}}},
			"AssignLine.OrderID: got two parents for one row, by AssignOrder[0].Lines[1] and by AssignOrder[2].Lines[0]" + fix,
		},
		{
			"slice",
			[]plugintest.BenchOrder{{Lines: aliased}, {Lines: aliased}},
			"BenchLine.OrderID: got two parents for one row, by BenchOrder[0].Lines[0] and by BenchOrder[1].Lines[0]" + fix,
		},
		{
			"one key set",
			[]plugintest.BenchOrder{{ID: 3, Lines: aliased}, {Lines: aliased}},
			"by BenchOrder[0].Lines[0] and by BenchOrder[1].Lines[0]",
		},
		{
			"different keys set",
			[]plugintest.BenchOrder{{ID: 3, Lines: aliased}, {ID: 4, Lines: aliased}},
			"by BenchOrder[0].Lines[0] and by BenchOrder[1].Lines[0]",
		},
		{
			"part of a slice, in a slice of slices",
			[][]plugintest.BenchOrder{{{}, {Lines: aliased[2:]}}, {{Lines: make([]plugintest.BenchLine, 2)}, {Lines: aliased[:3]}}},
			"by BenchOrder[0][1].Lines[0] and by BenchOrder[1][1].Lines[2]",
		},
		{
			"within a slice",
			[]plugintest.BenchOrder{{Lines: aliased}, {Lines: aliased[3:4]}},
			"by BenchOrder[0].Lines[3] and by BenchOrder[1].Lines[0]",
		},
		{
			"deep slice",
			&plugintest.AssignOrder{Lines: []*plugintest.AssignLine{{Serials: serials[:2]}, {Serials: serials[1:]}}},
			"AssignSerial.LineID: got two parents for one row, by AssignOrder.Lines[0].Serials[1] and by AssignOrder.Lines[1].Serials[0]" + fix,
		},
		{
			"has one",
			[]plugintest.AssignUser{{Profile: profile}, {Profile: profile}},
			"AssignProfile.UserID: got two parents for one row, by AssignUser[0].Profile and by AssignUser[1].Profile" + fix,
		},
		{
			"has one, and others by value",
			[]assignHarbour{{Flagship: flagship}, {Flagship: flagship}},
			"assignShip.HarbourID: got two parents for one row, by assignHarbour[0].Flagship and by assignHarbour[1].Flagship" + fix,
		},
		{
			"polymorphic",
			&[2]assignVideo{{Comments: comments}, {Comments: comments}},
			"assignComment.OwnerID: got two parents for one row, by assignVideo[0].Comments[0] and by assignVideo[1].Comments[0]" + fix,
		},
		{
			"polymorphic, parents of two models",
			&assignCustomer{Code: "A", Cards: cards, Orders: []assignCoded{{Cards: cards[1:]}}},
			"assignCustomer.Orders[0].Cards[0]",
		},
		{
			"in itself",
			&assignNode{Children: []*assignNode{child, {Children: []*assignNode{child}}}},
			"assignNode.ParentID: got two parents for one row, by assignNode.Children[0] and by assignNode.Children[1].Children[0]" + fix,
		},
		{
			"string keys",
			[]assignCustomer{{Code: "A", Cards: cards[:1]}, {Code: "B", Cards: cards[:1]}},
			"assignCard.HolderID: got two parents",
		},
		{
			"pointer, and a pointer back after it",
			[]*plugintest.AssignOrder{{Lines: []*plugintest.AssignLine{line}}, last},
			"AssignLine.OrderID: got two parents for one row, by AssignOrder[0].Lines[0] and by AssignOrder[1].Lines[0]" + fix,
		},
		{
			"linked by another relation before",
			&assignTeam{Players: players, Coaches: []assignCoach{{Players: players}, {Players: players}}},
			"assignPlayer.CoachID: got two parents for one row, by assignTeam.Coaches[0].Players[0] and by assignTeam.Coaches[1].Players[0]" + fix,
		},
		{
			"back pointer",
			&plugintest.AssignOrder{Lines: []*plugintest.AssignLine{{}, {Order: &plugintest.AssignOrder{}}}},
			"AssignLine.OrderID: got two parents for one row, by AssignOrder.Lines[1] and by AssignOrder.Lines[1].Order: point both to the same parent",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { // not parallel, because the subtests share rows
			gen := plugintest.NewAssignGenerator()
			before := plugintest.AssignText(t, test.tree)
			err := gormflake.Assign(plugintest.NoDatabase(t, gen), test.tree)
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: Assign: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant …%s…", err, test.want)
			}
			if after := plugintest.AssignText(t, test.tree); after != before || len(gen.Blocks) > 0 {
				t.Errorf("%d blocks of keys were made, and the tree changed to\n%s", len(gen.Blocks), after)
			}
		})
	}
}

// assignTeam has players in two relations of its own and in a relation of its coaches.
type assignTeam struct {
	ID      types.ID       `gorm:"primaryKey" snowflake:"pk"`
	Players []assignPlayer `gorm:"foreignKey:TeamID"`
	Keepers []assignPlayer `gorm:"foreignKey:TeamID"`
	Coaches []assignCoach  `gorm:"foreignKey:TeamID"`
}

type assignCoach struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TeamID  types.ID
	Players []assignPlayer `gorm:"foreignKey:CoachID"`
}

type assignPlayer struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TeamID  types.ID
	CoachID types.ID
}

// assignHarbour has ships behind a pointer and in a slice.
type assignHarbour struct {
	ID       types.ID     `gorm:"primaryKey" snowflake:"pk"`
	Flagship *assignShip  `gorm:"foreignKey:HarbourID"`
	Ships    []assignShip `gorm:"foreignKey:HarbourID"`
}

type assignShip struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	HarbourID types.ID
}

// assignBox has items whose back pointer is behind a pointer.
type assignBox struct {
	ID    types.ID        `gorm:"primaryKey" snowflake:"pk"`
	Items []assignBoxItem `gorm:"foreignKey:BoxID"`
}

type assignBoxItem struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	*AssignBoxed
}

// AssignBoxed is exported because it is embedded by a pointer.
type AssignBoxed struct {
	BoxID types.ID
	Box   *assignBox `gorm:"foreignKey:BoxID"`
}

// TestAssignAcceptsSharedRows checks that Assign accepts shared rows that have one parent
// or no parent.
func TestAssignAcceptsSharedRows(t *testing.T) {
	t.Parallel()
	author, tag, stored := &assignAuthor{}, &plugintest.AssignTag{}, &plugintest.AssignLine{}
	players, lines, revisions := make([]assignPlayer, 3), make([]plugintest.BenchLine, 2), make([]assignRevision, 2)
	order := &plugintest.AssignOrder{Lines: []*plugintest.AssignLine{{}}}
	node := &assignNode{}
	for name, tree := range map[string]any{
		"belongs-to":                  []assignBook{{Author: author}, {Author: author}},
		"many-to-many":                []plugintest.AssignPost{{Tags: []*plugintest.AssignTag{tag, tag}}, {Tags: []*plugintest.AssignTag{tag}}},
		"two foreign keys":            &assignTeam{Players: players, Coaches: []assignCoach{{Players: players[1:]}}},
		"two relations of one parent": &assignTeam{Players: players, Keepers: players[:1]},
		"one parent twice":            []*plugintest.AssignOrder{order, order},
		"neighbours":                  []plugintest.BenchOrder{{Lines: lines[:1]}, {Lines: lines[1:]}},
		"two structs of one row":      []plugintest.BenchOrder{{ID: 7, Lines: lines}, {ID: 7, Lines: lines}},
		"a zero part of their key":    []assignDoc{{ID: 7, Revisions: revisions}, {ID: 7, Revisions: revisions}},
		"pointers to a struct of one": []*plugintest.AssignOrder{{ID: 7, Lines: []*plugintest.AssignLine{stored}}, {ID: 7, Lines: []*plugintest.AssignLine{stored}}},
		"copy of the parent":          &plugintest.AssignOrder{ID: 8, Lines: []*plugintest.AssignLine{{Order: &plugintest.AssignOrder{ID: 8}}}},
		"child first":                 []*assignNode{node, {Children: []*assignNode{node}}},
		"back pointer behind nil":     &assignBox{Items: make([]assignBoxItem, 1)},
	} {
		if err := gormflake.Assign(plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), tree); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if players[1].TeamID == 0 || players[1].CoachID == 0 || node.ParentID == nil {
		t.Errorf("player %+v, node %+v: want them linked", players[1], node)
	}
}

// TestAssignAcceptsParentsThatShareAKey checks that an order and its extension may both be
// the parent of one part. The extension has the key of the order, so both give the part the
// same foreign key.
func TestAssignAcceptsParentsThatShareAKey(t *testing.T) {
	t.Parallel()
	part := &assignCommonPart{}
	order := assignCommon{Parts: []*assignCommonPart{part}, Extension: &assignCommonExtension{Parts: []*assignCommonPart{part}}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &order)
	if order.ID == 0 || part.OrderID != order.ID {
		t.Errorf("part of %v, want %v", part.OrderID, order.ID)
	}
}

type assignCommon struct {
	ID        types.ID               `gorm:"primaryKey" snowflake:"pk"`
	Parts     []*assignCommonPart    `gorm:"foreignKey:OrderID"`
	Extension *assignCommonExtension `gorm:"foreignKey:OrderID"`
}

type assignCommonExtension struct {
	OrderID types.ID            `gorm:"primaryKey"`
	Parts   []*assignCommonPart `gorm:"foreignKey:OrderID;references:OrderID"`
}

type assignCommonPart struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
}

// TestAssignRandomSharing checks orders whose lines are random parts of one array. Assign
// must return an error exactly if two parts overlap.
func TestAssignRandomSharing(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	rejected := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		// owner has, for each line, 1 plus the index of its order, or 0 if it has no order.
		lines := make([]plugintest.BenchLine, 20)
		orders, owner, shared := make([]plugintest.BenchOrder, 1+r.IntN(4)), make([]int, len(lines)), false
		for i := range orders {
			from := r.IntN(len(lines))
			to := from + r.IntN(min(8, len(lines)-from))
			orders[i].Lines = lines[from:to]
			for j := from; j < to; j++ {
				shared = shared || owner[j] != 0
				owner[j] = i + 1
			}
		}
		if err := gormflake.Assign(db, orders); (err != nil) != shared {
			t.Errorf("seed %d: shared %v, got %v", seed, shared, err)
		}
		if shared {
			rejected++
			continue
		}
		for j, i := range owner {
			if i > 0 && (orders[i-1].ID == 0 || lines[j].OrderID != orders[i-1].ID) {
				t.Errorf("seed %d: line %d of %v, want %v", seed, j, lines[j].OrderID, orders[i-1].ID)
			}
		}
	}
	if rejected < 200 || rejected > 800 {
		t.Errorf("%d of 1000 cases have shared rows, want more of both", rejected)
	}
}

// TestCreateWithTwoParents checks that Create does not detect two parents that share a
// row, and gives the row to the last parent. PostgreSQL rejects the statement, because it
// contains the row twice.
func TestCreateWithTwoParents(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		plugintest.AssignTables(t, db, []any{&assignInvoice{}, &assignItem{}, &plugintest.AssignOrder{}, &plugintest.AssignLine{}, &plugintest.AssignSerial{}})
		items, line := make([]assignItem, 2), &plugintest.AssignLine{}
		invoices := []assignInvoice{{Number: "1", Items: items}, {Number: "2", Items: items}}
		orders := []*plugintest.AssignOrder{{Lines: []*plugintest.AssignLine{line}}, {Lines: []*plugintest.AssignLine{line}}}
		for _, rows := range []any{&invoices, orders} {
			if err := db.Create(rows).Error; (err != nil) != (db.Name() == "postgres") {
				t.Errorf("create %T: %v, want an error on PostgreSQL only", rows, err)
			}
		}
		want := map[types.ID]types.ID{}
		if db.Name() != "postgres" {
			want = map[types.ID]types.ID{items[0].ID: invoices[1].ID, items[1].ID: invoices[1].ID, line.ID: orders[1].ID}
		}
		if got := storedParents(t, db); !maps.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}

// TestCreateTakesRowsOfOtherParent checks that, if two parents with the same children are
// created one after the other, the children move to the second parent.
func TestCreateTakesRowsOfOtherParent(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		plugintest.AssignTables(t, db, []any{&assignInvoice{}, &assignItem{}, &plugintest.AssignOrder{}, &plugintest.AssignLine{}, &plugintest.AssignSerial{}})
		items, line, want := make([]assignItem, 1), &plugintest.AssignLine{}, map[types.ID]types.ID{}
		for _, number := range []string{"1", "2"} {
			invoice := assignInvoice{Number: number, Items: items}
			order := plugintest.AssignOrder{Lines: []*plugintest.AssignLine{line}}
			if err := errors.Join(db.Create(&invoice).Error, db.Create(&order).Error); err != nil {
				t.Fatal(err)
			}
			want[items[0].ID], want[line.ID] = invoice.ID, order.ID
		}
		if got := storedParents(t, db); !maps.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}

// storedParents returns the parents of all items and lines.
func storedParents(t *testing.T, db *gorm.DB) map[types.ID]types.ID {
	t.Helper()
	var items []assignItem
	var lines []plugintest.AssignLine
	if err := errors.Join(db.Find(&items).Error, db.Find(&lines).Error); err != nil {
		t.Fatal(err)
	}
	parents := map[types.ID]types.ID{}
	for _, i := range items {
		parents[i.ID] = i.InvoiceID
	}
	for _, l := range lines {
		parents[l.ID] = l.OrderID
	}
	return parents
}
