package plugintest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

func TestAssignAsksOncePerModel(t *testing.T) {
	t.Parallel()
	gen := newAssignGenerator()
	db := noDatabase(t, gen)
	orders := newAssignOrders(100)
	assignOrFail(t, db, orders)
	// Parents first; serials have two keys each.
	if want := []int{100, 300, 600 * 2}; !slices.Equal(gen.blocks, want) {
		t.Errorf("blocks of %v keys, want %v", gen.blocks, want)
	}
	assignOrFail(t, db, orders)
	if len(gen.blocks) != 3 {
		t.Errorf("a second Assign made %v more blocks, want none", gen.blocks[3:])
	}
}

func TestAssignParentsHaveSmallerKeys(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	orders := *newAssignOrders(5)
	assignOrFail(t, db, orders)
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
	// Belongs-to reaches the parent from its child.
	book := assignBook{Author: &assignAuthor{}}
	assignOrFail(t, db, &book)
	if book.ID <= book.Author.ID {
		t.Errorf("book %v, author %v: want the author smaller", book.ID, book.Author.ID)
	}
	tree := assignCategory{Children: make([]assignCategory, 1)}
	assignOrFail(t, db, &tree)
	if tree.Children[0].ID <= tree.ID {
		t.Errorf("category %v, child %v: want them ascending", tree.ID, tree.Children[0].ID)
	}
}

func TestAssignKeepsKeysAndOverwritesLinks(t *testing.T) {
	t.Parallel()
	gen := newAssignGenerator()
	db := noDatabase(t, gen)
	order := assignOrder{ID: 5, Lines: []*assignLine{{ID: 6, OrderID: 99}, {}}}
	assignOrFail(t, db, &order)
	switch line := order.Lines[0]; {
	case order.ID != 5 || line.ID != 6:
		t.Errorf("order %v, line %v, want 5 and 6", order.ID, line.ID)
	case line.OrderID != 5 || order.Lines[1].OrderID != 5:
		t.Errorf("lines of %v and %v, want 5", line.OrderID, order.Lines[1].OrderID)
	case !slices.Equal(gen.blocks, []int{1}):
		t.Errorf("blocks %v, want one of one key", gen.blocks)
	}
}

func TestAssignAgainLinksAgain(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	orders := *newAssignOrders(2)
	assignOrFail(t, db, orders)
	line := orders[0].Lines[0].ID
	orders[0].ID = 4711
	assignOrFail(t, db, orders)
	for _, l := range orders[0].Lines {
		if l.OrderID != 4711 {
			t.Errorf("line of %v, want 4711", l.OrderID)
		}
	}
	if orders[0].Lines[0].ID != line {
		t.Errorf("line %v became %v", line, orders[0].Lines[0].ID)
	}
}

func TestAssignSharedAndCircular(t *testing.T) {
	t.Parallel()
	gen := newAssignGenerator()
	db := noDatabase(t, gen)
	order := &assignOrder{}
	for range 3 {
		order.Lines = append(order.Lines, &assignLine{Order: order})
	}
	order.Lines = append(order.Lines, order.Lines[0])
	assignOrFail(t, db, []*assignOrder{order, order})
	if want := []int{1, 3}; !slices.Equal(gen.blocks, want) {
		t.Errorf("blocks %v, want %v", gen.blocks, want)
	}
	for i, l := range order.Lines {
		if l.ID == 0 || l.OrderID != order.ID {
			t.Errorf("line %d: key %v of %v, want one of %v", i, l.ID, l.OrderID, order.ID)
		}
	}
}

// A row that is the first field of another row has that row's address.
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
		Rivets []*rivet `gorm:"foreignKey:HullID"` // pointers: rows that may be met again
	}
	h := &hull{First: rivet{Name: "a"}, Rivets: []*rivet{{Name: "b"}}}
	assignOrFail(t, noDatabase(t, newAssignGenerator()), []*hull{h})
	for _, r := range []rivet{h.First, *h.Rivets[0]} {
		if r.ID == 0 || h.ID == 0 || r.HullID != h.ID {
			t.Errorf("rivet %s: key %v of %v, want one of %v", r.Name, r.ID, r.HullID, h.ID)
		}
	}
}

// Assign reaches the whole order from one of its lines.
func TestAssignFromTheChild(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	order := &assignOrder{}
	first, second := &assignLine{Order: order}, &assignLine{}
	order.Lines = []*assignLine{second}
	assignOrFail(t, db, first)
	if order.ID == 0 || first.OrderID != order.ID || second.OrderID != order.ID || second.ID == 0 {
		t.Errorf("order %v, lines %+v and %+v", order.ID, first, second)
	}
}

func TestAssignSliceWithinItself(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	loop := make([]assignCategory, 1)
	loop[0].Children = loop
	assignOrFail(t, db, loop)
	if loop[0].ID == 0 || *loop[0].ParentID != loop[0].ID {
		t.Errorf("category %v of %v, want its own parent", loop[0].ID, loop[0].ParentID)
	}
}

// A foreign key may point to the key of another row.
func TestAssignKeepsOtherRowsBehindPointers(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	old := assignUser{ID: 1}
	moved := assignUser{ID: 2, Profile: &assignProfile{UserID: &old.ID}}
	assignOrFail(t, db, &moved)
	if old.ID != 1 || *moved.Profile.UserID != 2 {
		t.Errorf("old user %v, profile of %v, want 1 and 2", old.ID, *moved.Profile.UserID)
	}
	moved.ID = 3
	if *moved.Profile.UserID != 2 {
		t.Error("the profile's foreign key is the user's key itself")
	}
}

func TestAssignForms(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	order, pointer := assignOrder{}, &assignOrder{}
	slice, pointers := make([]assignOrder, 2), []*assignOrder{{}, {}}
	array, pointerArray := [2]assignOrder{}, [2]*assignOrder{{}, {}}
	nested := [][]*assignOrder{{{}}, {{}}}
	forms := []any{&order, &pointer, slice, pointers, &array, &pointerArray, &nested}
	for _, form := range forms {
		assignOrFail(t, db, form)
	}
	rows := []assignOrder{
		order, *pointer, slice[0], slice[1], *pointers[0], *pointers[1], array[0], array[1],
		*pointerArray[0], *pointerArray[1], *nested[0][0], *nested[1][0],
	}
	for i, row := range rows {
		if row.ID == 0 {
			t.Errorf("row %d has no key", i)
		}
	}
	for _, empty := range []any{[]assignOrder{}, &[]*assignOrder{}, []*assignOrder(nil), &[0]assignOrder{}} {
		assignOrFail(t, db, empty)
	}
}

func TestAssignLeavesAbsentRelations(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	user := assignUser{}
	book := assignBook{AuthorID: new(types.ID)}
	ticket := assignTicket{}
	for _, v := range []any{&user, &book, &ticket} {
		assignOrFail(t, db, v)
	}
	if user.Profile != nil || user.Address != (assignAddress{}) {
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

func TestAssignWithSeveralGenerators(t *testing.T) {
	t.Parallel()
	keys, numbers := newAssignGenerator(), &assignGenerator{last: 1 << 40}
	db := noDatabase(t, keys, gormflake.WithGenerator("numbers", numbers))
	rows := []assignTwoKeys{{Children: make([]assignTwoChildren, 2)}, {Number: "77", Children: make([]assignTwoChildren, 1)}}
	assignOrFail(t, db, rows)
	if !slices.Equal(keys.blocks, []int{2}) || !slices.Equal(numbers.blocks, []int{1, 3}) {
		t.Errorf("blocks %v and %v, want [2] and [1 3]", keys.blocks, numbers.blocks)
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

// assignCard has no tag and a string for the keys of its holders.
type assignCard struct {
	ID         uint `gorm:"primaryKey"`
	HolderID   string
	HolderType string
}

func TestAssignLinksOtherKeysToo(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	c := assignCustomer{Code: "ACME", Cards: make([]assignCard, 1), Orders: []assignCoded{{Cards: make([]assignCard, 1)}}}
	assignOrFail(t, db, &c)
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

func TestAssignInParallel(t *testing.T) {
	t.Parallel()
	db := noDatabase(t, newAssignGenerator())
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			orders := *newAssignOrders(10)
			assignOrFail(t, db.Session(&gorm.Session{}), orders)
			if orders[9].Lines[2].OrderID != orders[9].ID {
				t.Error("the last line is not linked")
			}
		})
	}
}
