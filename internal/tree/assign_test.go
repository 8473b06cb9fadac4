package tree_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestAssignAsksOncePerModel checks that Assign calls the generator once for each model,
// parents first, and not at all for a tree that has its keys.
func TestAssignAsksOncePerModel(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewAssignGenerator()
	db := plugintest.NoDatabase(t, gen)
	orders := plugintest.NewAssignOrders(100)
	plugintest.AssignOrFail(t, db, orders)
	// Parents first; serials have two keys each.
	if want := []int{100, 300, 600 * 2}; !slices.Equal(gen.Blocks, want) {
		t.Errorf("blocks of %v keys, want %v", gen.Blocks, want)
	}
	plugintest.AssignOrFail(t, db, orders)
	if len(gen.Blocks) != 3 {
		t.Errorf("a second Assign made %v more blocks, want none", gen.Blocks[3:])
	}
}

// TestAssignParentsHaveSmallerKeys checks that a parent's key is smaller than the keys of
// its children, in all directions of relations.
func TestAssignParentsHaveSmallerKeys(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	orders := *plugintest.NewAssignOrders(5)
	plugintest.AssignOrFail(t, db, orders)
	// All orders get their keys before the first line.
	last := types.ID(0)
	for _, o := range orders {
		if o.ID <= last {
			t.Errorf("order %v after %v", o.ID, last)
		}
		last = o.ID
		for _, l := range o.Lines {
			if l.ID <= orders[4].ID || l.Serials[0].ID <= l.ID {
				t.Errorf("order %v, line %v, serial %v: want them ascending", o.ID, l.ID, l.Serials[0].ID)
			}
		}
	}
	// A belongs-to relation leads from the child to the parent.
	book := assignBook{Author: &assignAuthor{}}
	plugintest.AssignOrFail(t, db, &book)
	if book.ID <= book.Author.ID {
		t.Errorf("book %v, author %v: want the author smaller", book.ID, book.Author.ID)
	}
	tree := assignCategory{Children: make([]assignCategory, 1)}
	plugintest.AssignOrFail(t, db, &tree)
	if tree.Children[0].ID <= tree.ID {
		t.Errorf("category %v, child %v: want them ascending", tree.ID, tree.Children[0].ID)
	}
}

// TestAssignKeepsKeysAndOverwritesLinks checks that Assign keeps keys that are set, and
// replaces foreign keys that refer to another row.
func TestAssignKeepsKeysAndOverwritesLinks(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewAssignGenerator()
	db := plugintest.NoDatabase(t, gen)
	order := plugintest.AssignOrder{ID: 5, Lines: []*plugintest.AssignLine{{ID: 6, OrderID: 99}, {}}}
	plugintest.AssignOrFail(t, db, &order)
	switch line := order.Lines[0]; {
	case order.ID != 5 || line.ID != 6:
		t.Errorf("order %v, line %v, want 5 and 6", order.ID, line.ID)
	case line.OrderID != 5 || order.Lines[1].OrderID != 5:
		t.Errorf("lines of %v and %v, want 5", line.OrderID, order.Lines[1].OrderID)
	case !slices.Equal(gen.Blocks, []int{1}):
		t.Errorf("blocks %v, want one of one key", gen.Blocks)
	}
}

// TestAssignAgainLinksAgain checks a tree whose parent gets another key after Assign. A
// second Assign must set the foreign keys of the children to this key, and keep the keys of
// the children.
func TestAssignAgainLinksAgain(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	orders := *plugintest.NewAssignOrders(2)
	plugintest.AssignOrFail(t, db, orders)
	line := orders[0].Lines[0].ID
	orders[0].ID = 4711
	plugintest.AssignOrFail(t, db, orders)
	for _, l := range orders[0].Lines {
		if l.OrderID != 4711 {
			t.Errorf("line of %v, want 4711", l.OrderID)
		}
	}
	if orders[0].Lines[0].ID != line {
		t.Errorf("line %v became %v", line, orders[0].Lines[0].ID)
	}
}

// TestAssignSharedAndCircular checks that a row that several pointers reach, also in a
// cycle, gets one key.
func TestAssignSharedAndCircular(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewAssignGenerator()
	db := plugintest.NoDatabase(t, gen)
	order := &plugintest.AssignOrder{}
	for range 3 {
		order.Lines = append(order.Lines, &plugintest.AssignLine{Order: order})
	}
	order.Lines = append(order.Lines, order.Lines[0])
	plugintest.AssignOrFail(t, db, []*plugintest.AssignOrder{order, order})
	if want := []int{1, 3}; !slices.Equal(gen.Blocks, want) {
		t.Errorf("blocks %v, want %v", gen.Blocks, want)
	}
	for i, l := range order.Lines {
		if l.ID == 0 || l.OrderID != order.ID {
			t.Errorf("line %d: key %v of %v, want one of %v", i, l.ID, l.OrderID, order.ID)
		}
	}
}

// TestAssignRowAtTheSameAddress checks that a row gets its own key although it is the first
// field of another row and so has the same address.
func TestAssignRowAtTheSameAddress(t *testing.T) {
	t.Parallel()
	type rivet struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name   string
		HullID types.ID
	}
	type hull struct {
		First  rivet    `gorm:"foreignKey:HullID"`
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Rivets []*rivet `gorm:"foreignKey:HullID"` // pointers, so that Assign records the rows that it has reached
	}
	h := &hull{First: rivet{Name: "a"}, Rivets: []*rivet{{Name: "b"}}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), []*hull{h})
	for _, r := range []rivet{h.First, *h.Rivets[0]} {
		if r.ID == 0 || h.ID == 0 || r.HullID != h.ID {
			t.Errorf("rivet %s: key %v of %v, want one of %v", r.Name, r.ID, r.HullID, h.ID)
		}
	}
}

// TestAssignFromTheChild checks that Assign reaches the whole order from one of its
// lines.
func TestAssignFromTheChild(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	order := &plugintest.AssignOrder{}
	first, second := &plugintest.AssignLine{Order: order}, &plugintest.AssignLine{}
	order.Lines = []*plugintest.AssignLine{second}
	plugintest.AssignOrFail(t, db, first)
	if order.ID == 0 || first.OrderID != order.ID || second.OrderID != order.ID || second.ID == 0 {
		t.Errorf("order %v, lines %+v and %+v", order.ID, first, second)
	}
}

// TestAssignSliceWithinItself checks that Assign ends if a slice contains itself.
func TestAssignSliceWithinItself(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	loop := make([]assignCategory, 1)
	loop[0].Children = loop
	plugintest.AssignOrFail(t, db, loop)
	if loop[0].ID == 0 || *loop[0].ParentID != loop[0].ID {
		t.Errorf("category %v of %v, want its own parent", loop[0].ID, loop[0].ParentID)
	}
}

// TestAssignKeepsOtherRowsBehindPointers checks that Assign does not write through a
// foreign key that points to the key of another row, which would change that row's key.
func TestAssignKeepsOtherRowsBehindPointers(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	old := plugintest.AssignUser{ID: 1}
	moved := plugintest.AssignUser{ID: 2, Profile: &plugintest.AssignProfile{UserID: &old.ID}}
	plugintest.AssignOrFail(t, db, &moved)
	if old.ID != 1 || *moved.Profile.UserID != 2 {
		t.Errorf("old user %v, profile of %v, want 1 and 2", old.ID, *moved.Profile.UserID)
	}
	moved.ID = 3
	if *moved.Profile.UserID != 2 {
		t.Error("the profile's foreign key is the user's key itself")
	}
}

// TestAssignForms checks that the rows get keys in each form of a value that Assign
// accepts.
func TestAssignForms(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	order, pointer := plugintest.AssignOrder{}, &plugintest.AssignOrder{}
	slice, pointers := make([]plugintest.AssignOrder, 2), []*plugintest.AssignOrder{{}, {}}
	array, pointerArray := [2]plugintest.AssignOrder{}, [2]*plugintest.AssignOrder{{}, {}}
	nested := [][]*plugintest.AssignOrder{{{}}, {{}}}
	forms := []any{&order, &pointer, slice, pointers, &array, &pointerArray, &nested}
	for _, form := range forms {
		plugintest.AssignOrFail(t, db, form)
	}
	rows := []plugintest.AssignOrder{
		order, *pointer, slice[0], slice[1], *pointers[0], *pointers[1], array[0], array[1],
		*pointerArray[0], *pointerArray[1], *nested[0][0], *nested[1][0],
	}
	for i, row := range rows {
		if row.ID == 0 {
			t.Errorf("row %d has no key", i)
		}
	}
	for _, empty := range []any{[]plugintest.AssignOrder{}, &[]*plugintest.AssignOrder{}, []*plugintest.AssignOrder(nil), &[0]plugintest.AssignOrder{}} {
		plugintest.AssignOrFail(t, db, empty)
	}
}

// TestAssignLeavesAbsentRelations checks that Assign neither creates rows for relations
// that are nil or zero, nor changes their foreign keys.
func TestAssignLeavesAbsentRelations(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	user := plugintest.AssignUser{}
	book := assignBook{AuthorID: new(types.ID)}
	ticket := assignTicket{}
	for _, v := range []any{&user, &book, &ticket} {
		plugintest.AssignOrFail(t, db, v)
	}
	if user.Profile != nil || user.Address != (plugintest.AssignAddress{}) {
		t.Errorf("user %+v, want no profile and no address", user)
	}
	if *book.AuthorID != 0 || book.PressID != nil || ticket.Extra != nil {
		t.Errorf("book %+v, ticket %+v: want nothing linked", book, ticket)
	}
}

type assignTwoKeys struct {
	ID       types.ID            `gorm:"primaryKey" snowflake:"pk"`
	Number   string              `snowflake:"id,gen=numbers"`
	Children []assignTwoChildren `gorm:"foreignKey:Number;references:Number"`
}

type assignTwoChildren struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk,gen=numbers"`
	Number types.ID
}

// TestAssignWithSeveralGenerators checks that each generator is called once for the
// columns of a model that name it.
func TestAssignWithSeveralGenerators(t *testing.T) {
	t.Parallel()
	keys, numbers := plugintest.NewAssignGenerator(), &plugintest.AssignGenerator{Last: 1 << 40}
	db := plugintest.NoDatabase(t, keys, gormflake.WithGenerator("numbers", numbers))
	rows := []assignTwoKeys{{Children: make([]assignTwoChildren, 2)}, {Number: "77", Children: make([]assignTwoChildren, 1)}}
	plugintest.AssignOrFail(t, db, rows)
	// The generator numbers generates one ID for the column Number, because the second row has a
	// Number already, and three keys of children.
	if !slices.Equal(keys.Blocks, []int{2}) || !slices.Equal(numbers.Blocks, []int{1, 3}) {
		t.Errorf("blocks %v and %v, want [2] and [1 3]", keys.Blocks, numbers.Blocks)
	}
	for _, row := range rows {
		for _, d := range row.Children {
			if row.Number != d.Number.String() || d.ID <= 1<<40 || d.ID > 1<<41 {
				t.Errorf("number %q, child %+v", row.Number, d)
			}
		}
	}
}

type assignCustomer struct {
	Code   string        `gorm:"primaryKey"`
	Orders []assignCoded `gorm:"foreignKey:CustomerCode"`
	Cards  []assignCard  `gorm:"polymorphic:Holder"`
}

type assignCoded struct {
	ID           int64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	CustomerCode *string
	Cards        []assignCard `gorm:"polymorphic:Holder;polymorphicValue:order"`
}

// assignCard has no tag, and a string for the keys of its holders.
type assignCard struct {
	ID         uint `gorm:"primaryKey"`
	HolderID   string
	HolderType string
}

// TestAssignLinksOtherKeysToo checks that Assign also sets foreign keys to untagged keys,
// and foreign keys of type string to integer keys.
func TestAssignLinksOtherKeysToo(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	c := assignCustomer{Code: "ACME", Cards: make([]assignCard, 1), Orders: []assignCoded{{Cards: make([]assignCard, 1)}}}
	plugintest.AssignOrFail(t, db, &c)
	order := c.Orders[0]
	if *order.CustomerCode != "ACME" {
		t.Errorf("order of %q, want ACME", *order.CustomerCode)
	}
	if got, want := c.Cards[0], (assignCard{HolderID: "ACME", HolderType: "assign_customers"}); got != want {
		t.Errorf("card %+v, want %+v", got, want)
	}
	if got, want := order.Cards[0], (assignCard{HolderID: strconv.FormatInt(order.ID, 10), HolderType: "order"}); got != want {
		t.Errorf("card %+v, want %+v", got, want)
	}
}

// TestAssignInParallel checks that Assign may run concurrently on different rows. The
// race detector finds an access without a lock.
func TestAssignInParallel(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			orders := *plugintest.NewAssignOrders(10)
			plugintest.AssignOrFail(t, db.Session(&gorm.Session{}), orders)
			if orders[9].Lines[2].OrderID != orders[9].ID {
				t.Error("the last line is not linked")
			}
		})
	}
}
