package plugintest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

// A row has one parent, so that two that share it are an error, and no key is set.
func TestAssignRejectsTwoParents(t *testing.T) {
	t.Parallel()
	line, comments, serials := &assignLine{}, make([]assignComment, 1), make([]assignSerial, 3)
	cards := make([]assignCard, 2)
	profile, child, aliased := &assignProfile{}, &assignNode{}, make([]benchLine, 5)
	flagship := &assignShip{}
	players, last := make([]assignPlayer, 1), &assignOrder{}
	last.Lines = []*assignLine{line, {Order: last}}
	const own = ": give each parent its own copy"
	tests := []struct {
		name string
		tree any
		want string
	}{
		{
			"pointer",
			[]*assignOrder{{Lines: []*assignLine{{}, line}}, {}, {Lines: []*assignLine{line}}},
			"assignLine.OrderID: got two parents for one row, by assignOrder[0].Lines[1] and by assignOrder[2].Lines[0]" + own,
		},
		{
			"slice",
			[]benchOrder{{Lines: aliased}, {Lines: aliased}},
			"benchLine.OrderID: got two parents for one row, by benchOrder[0].Lines[0] and by benchOrder[1].Lines[0]" + own,
		},
		{
			"one key set",
			[]benchOrder{{ID: 3, Lines: aliased}, {Lines: aliased}},
			"by benchOrder[0].Lines[0] and by benchOrder[1].Lines[0]",
		},
		{
			"different keys set",
			[]benchOrder{{ID: 3, Lines: aliased}, {ID: 4, Lines: aliased}},
			"by benchOrder[0].Lines[0] and by benchOrder[1].Lines[0]",
		},
		{
			"part of a slice, in a slice of slices",
			[][]benchOrder{{{}, {Lines: aliased[2:]}}, {{Lines: make([]benchLine, 2)}, {Lines: aliased[:3]}}},
			"by benchOrder[0][1].Lines[0] and by benchOrder[1][1].Lines[2]",
		},
		{
			"within a slice",
			[]benchOrder{{Lines: aliased}, {Lines: aliased[3:4]}},
			"by benchOrder[0].Lines[3] and by benchOrder[1].Lines[0]",
		},
		{
			"deep slice",
			&assignOrder{Lines: []*assignLine{{Serials: serials[:2]}, {Serials: serials[1:]}}},
			"assignSerial.LineID: got two parents for one row, by assignOrder.Lines[0].Serials[1] and by assignOrder.Lines[1].Serials[0]" + own,
		},
		{
			"has one",
			[]assignUser{{Profile: profile}, {Profile: profile}},
			"assignProfile.UserID: got two parents for one row, by assignUser[0].Profile and by assignUser[1].Profile" + own,
		},
		{
			"has one, and others by value",
			[]assignHarbour{{Flagship: flagship}, {Flagship: flagship}},
			"assignShip.HarbourID: got two parents for one row, by assignHarbour[0].Flagship and by assignHarbour[1].Flagship" + own,
		},
		{
			"polymorphic",
			&[2]assignVideo{{Comments: comments}, {Comments: comments}},
			"assignComment.OwnerID: got two parents for one row, by assignVideo[0].Comments[0] and by assignVideo[1].Comments[0]" + own,
		},
		{
			"polymorphic, parents of two models",
			&assignCustomer{Code: "A", Cards: cards, Orders: []assignCoded{{Cards: cards[1:]}}},
			"assignCustomer.Orders[0].Cards[0]",
		},
		{
			"in itself",
			&assignNode{Children: []*assignNode{child, {Children: []*assignNode{child}}}},
			"assignNode.ParentID: got two parents for one row, by assignNode.Children[0] and by assignNode.Children[1].Children[0]" + own,
		},
		{
			"string keys",
			[]assignCustomer{{Code: "A", Cards: cards[:1]}, {Code: "B", Cards: cards[:1]}},
			"assignCard.HolderID: got two parents",
		},
		{
			"pointer, and a pointer back after it",
			[]*assignOrder{{Lines: []*assignLine{line}}, last},
			"assignLine.OrderID: got two parents for one row, by assignOrder[0].Lines[0] and by assignOrder[1].Lines[0]" + own,
		},
		{
			"linked by another relation before",
			&assignTeam{Players: players, Coaches: []assignCoach{{Players: players}, {Players: players}}},
			"assignPlayer.CoachID: got two parents for one row, by assignTeam.Coaches[0].Players[0] and by assignTeam.Coaches[1].Players[0]" + own,
		},
		{
			"back pointer",
			&assignOrder{Lines: []*assignLine{{}, {Order: &assignOrder{}}}},
			"assignLine.OrderID: got two parents for one row, by assignOrder.Lines[1] and by assignOrder.Lines[1].Order: point both to the same parent",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { // one after the other: they share rows
			gen := newAssignGenerator()
			before := assignText(t, test.tree)
			err := gormflake.Assign(noDatabase(t, gen), test.tree)
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: Assign: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant …%s…", err, test.want)
			}
			if after := assignText(t, test.tree); after != before || len(gen.blocks) > 0 {
				t.Errorf("%d blocks of keys were made, and the tree changed to\n%s", len(gen.blocks), after)
			}
		})
	}
}

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

type AssignBoxed struct {
	BoxID types.ID
	Box   *assignBox `gorm:"foreignKey:BoxID"`
}

// What is one parent, or none, is accepted.
func TestAssignAcceptsSharedRows(t *testing.T) {
	t.Parallel()
	author, tag, stored := &assignAuthor{}, &assignTag{}, &assignLine{}
	players, lines, revisions := make([]assignPlayer, 3), make([]benchLine, 2), make([]assignRevision, 2)
	order := &assignOrder{Lines: []*assignLine{{}}}
	node := &assignNode{}
	for name, tree := range map[string]any{
		"belongs-to":                  []assignBook{{Author: author}, {Author: author}},
		"many-to-many":                []assignPost{{Tags: []*assignTag{tag, tag}}, {Tags: []*assignTag{tag}}},
		"two foreign keys":            &assignTeam{Players: players, Coaches: []assignCoach{{Players: players[1:]}}},
		"two relations of one parent": &assignTeam{Players: players, Keepers: players[:1]},
		"one parent twice":            []*assignOrder{order, order},
		"neighbours":                  []benchOrder{{Lines: lines[:1]}, {Lines: lines[1:]}},
		"two structs of one row":      []benchOrder{{ID: 7, Lines: lines}, {ID: 7, Lines: lines}},
		"a zero part of their key":    []assignDoc{{ID: 7, Revisions: revisions}, {ID: 7, Revisions: revisions}},
		"pointers to a struct of one": []*assignOrder{{ID: 7, Lines: []*assignLine{stored}}, {ID: 7, Lines: []*assignLine{stored}}},
		"copy of the parent":          &assignOrder{ID: 8, Lines: []*assignLine{{Order: &assignOrder{ID: 8}}}},
		"child first":                 []*assignNode{node, {Children: []*assignNode{node}}},
		"back pointer behind nil":     &assignBox{Items: make([]assignBoxItem, 1)},
	} {
		if err := gormflake.Assign(noDatabase(t, newAssignGenerator()), tree); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if players[1].TeamID == 0 || players[1].CoachID == 0 || node.ParentID == nil {
		t.Errorf("player %+v, node %+v: want them linked", players[1], node)
	}
}

// An extension has the key of its order, and so do the parts of both.
func TestAssignAcceptsParentsThatShareAKey(t *testing.T) {
	t.Parallel()
	part := &assignCommonPart{}
	order := assignCommon{Parts: []*assignCommonPart{part}, Extension: &assignCommonExtension{Parts: []*assignCommonPart{part}}}
	assignOrFail(t, noDatabase(t, newAssignGenerator()), &order)
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

// Orders take their lines at random from one array.
func TestAssignRandomSharing(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	rejected := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := make([]benchLine, 20)
		orders, owner, shared := make([]benchOrder, 1+r.IntN(4)), make([]int, len(lines)), false
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

// Create does not see that two parents share a row: it gives the row to the last
// of them. PostgreSQL rejects the statement, which has the row twice.
func TestCreateWithTwoParents(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(newAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		assignTables(t, db, []any{&assignInvoice{}, &assignItem{}, &assignOrder{}, &assignLine{}, &assignSerial{}})
		items, line := make([]assignItem, 2), &assignLine{}
		invoices := []assignInvoice{{Number: "1", Items: items}, {Number: "2", Items: items}}
		orders := []*assignOrder{{Lines: []*assignLine{line}}, {Lines: []*assignLine{line}}}
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

// A second create takes the rows from the parent of the first.
func TestCreateTakesRowsOfOtherParent(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(newAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		assignTables(t, db, []any{&assignInvoice{}, &assignItem{}, &assignOrder{}, &assignLine{}, &assignSerial{}})
		items, line, want := make([]assignItem, 1), &assignLine{}, map[types.ID]types.ID{}
		for _, number := range []string{"1", "2"} {
			invoice := assignInvoice{Number: number, Items: items}
			order := assignOrder{Lines: []*assignLine{line}}
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
	var lines []assignLine
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
