package tree_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// textual is a type that scans only text, and is not a string.
type textual struct{ text string }

func (c *textual) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("got %T: want a string", value)
	}
	c.text = text
	return nil
}

func (c textual) Value() (driver.Value, error) { return c.text, nil }

type (
	numbered struct {
		ID       types.ID        `gorm:"primaryKey" snowflake:"pk"`
		Number   string          `snowflake:"serial=PAY"`
		Textual  []byTextual     `gorm:"foreignKey:Number;references:Number"`
		Pointer  []byTextPointer `gorm:"foreignKey:Number;references:Number"`
		Nullable []byPointer     `gorm:"foreignKey:Number;references:Number"`
	}
	byTextual struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number textual  `gorm:"type:varchar(40)"`
	}
	byTextPointer struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number *textual `gorm:"type:varchar(40)"`
	}
	byPointer struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number *string
	}
)

// TestAssignLinksSerialsOfOtherTypes checks that a foreign key to a serial number may be a
// type whose Scan accepts text, or a pointer to such a type or to a string.
func TestAssignLinksSerialsOfOtherTypes(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, plugintest.NewPlugin(t))
	for _, number := range []string{"", "set"} {
		row := numbered{Number: number, Textual: make([]byTextual, 1), Pointer: make([]byTextPointer, 1), Nullable: make([]byPointer, 1)}
		if err := gormflake.Assign(db, &row); err != nil {
			t.Fatal(err)
		}
		if row.Number == "" || row.Textual[0].Number.text != row.Number || row.Pointer[0].Number.text != row.Number || *row.Nullable[0].Number != row.Number {
			t.Errorf("number %s is linked as %v, %v and %v", row.Number, row.Textual[0].Number, row.Pointer[0].Number, *row.Nullable[0].Number)
		}
	}
}

// numberedBy has a foreign key of type T to a serial number.
type (
	numberedBy[T any] struct {
		ID     types.ID      `gorm:"primaryKey" snowflake:"pk"`
		Number string        `snowflake:"serial=PAY"`
		Rows   []byNumber[T] `gorm:"foreignKey:Number;references:Number"`
	}
	byNumber[T any] struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number T
	}
)

// deaf is a type whose Scan rejects every value.
type deaf struct{}

func (*deaf) Scan(any) error              { return errors.New("got something") }
func (deaf) Value() (driver.Value, error) { return "", nil }

// TestAssignRejectsLinksOfSerials checks that a foreign key that cannot hold a serial
// number is an error even while the number is unset, and that Assign then sets no key.
func TestAssignRejectsLinksOfSerials(t *testing.T) {
	t.Parallel()
	for want, tree := range map[string]any{
		"type int64 cannot":         &numberedBy[int64]{Rows: make([]byNumber[int64], 1)},
		"type *uint64 cannot":       &numberedBy[*uint64]{Rows: make([]byNumber[*uint64], 1)},
		"type float64 cannot":       &numberedBy[float64]{Rows: make([]byNumber[float64], 1)},
		"type bool cannot":          &numberedBy[bool]{Rows: make([]byNumber[bool], 1)},
		"type *bool cannot":         &numberedBy[*bool]{Rows: make([]byNumber[*bool], 1)},
		"type types.ID cannot":      &numberedBy[types.ID]{Rows: make([]byNumber[types.ID], 1)},
		"type sql.NullInt64 cannot": &numberedBy[sql.NullInt64]{Rows: make([]byNumber[sql.NullInt64], 1)},
		"type tree_test.deaf":       &numberedBy[deaf]{Rows: make([]byNumber[deaf], 1)},
		"type *tree_test.deaf":      &numberedBy[*deaf]{Rows: make([]byNumber[*deaf], 1)},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprintf("%+v", tree)
			err := gormflake.Assign(plugintest.Dry(t, plugintest.NewPlugin(t)), tree)
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: Assign: model byNumber[") ||
				!strings.Contains(err.Error(), ", field Number, foreign key to numberedBy[") || !strings.Contains(err.Error(), want) ||
				!strings.HasSuffix(err.Error(), " hold a serial number: use string") {
				t.Errorf("got %v, want that the %s hold a serial number", err, want)
			}
			if after := fmt.Sprintf("%+v", tree); after != before {
				t.Errorf("the tree changed from %s to %s", before, after)
			}
		})
	}
}

// TestAssignRejectsLinksOfDigits checks that a serial number of digits cannot be copied
// to a float, which would lose some of them.
func TestAssignRejectsLinksOfDigits(t *testing.T) {
	t.Parallel()
	type (
		byDigits struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number float64
		}
		digits struct {
			ID     types.ID   `gorm:"primaryKey" snowflake:"pk"`
			Number string     `snowflake:"serial=2026"`
			Rows   []byDigits `gorm:"foreignKey:Number;references:Number"`
		}
	)
	err := gormflake.Assign(plugintest.Dry(t, plugintest.NewPlugin(t)), &digits{Rows: make([]byDigits, 1)})
	if want := "gormflake: Assign: model byDigits, field Number, foreign key to digits: type float64 cannot hold a serial number: use string"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

type (
	filmWithKinds struct {
		ID       types.ID      `gorm:"primaryKey" snowflake:"pk"`
		Comments []kindComment `gorm:"polymorphic:Owner"`
	}
	kindComment struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType int
	}
)

// TestAssignRejectsTypeColumn checks the error for a polymorphic relation whose type
// column cannot hold the type.
func TestAssignRejectsTypeColumn(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, plugintest.NewPlugin(t))
	for _, tree := range []filmWithKinds{{}, {Comments: make([]kindComment, 1)}} {
		err := gormflake.Assign(db, &tree)
		if want := `gormflake: Assign: set kindComment.OwnerType: strconv.ParseInt: parsing "film_with_kinds": invalid syntax`; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if tree.ID != 0 {
			t.Error("the tree has a key")
		}
	}
}

// tally is a foreign key that counts how often it is set.
type tally struct {
	id     int64
	sets   int
	failAt int // number of the call of Scan that fails, or 0
}

func (c *tally) Scan(value any) error {
	if c.sets++; c.sets == c.failAt {
		return plugintest.ErrInjected
	}
	switch v := value.(type) {
	case types.ID:
		c.id = v.Int64()
	case int64:
		c.id = v
	default:
		return fmt.Errorf("got %T: want an integer", value)
	}
	return nil
}

func (c tally) Value() (driver.Value, error) { return c.id, nil }

type (
	// tallied has notes whose foreign keys count how often they are set.
	tallied struct {
		ID    types.ID   `gorm:"primaryKey" snowflake:"pk"`
		Part  *partTally `gorm:"foreignKey:OwnerID"`
		Notes []noteTally
	}
	// partTally has its owner's key. A pointer may lead Assign to a partTally before its
	// owner.
	partTally struct {
		OwnerID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	noteTally struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		TalliedID tally    `gorm:"type:bigint"`
	}
)

// TestAssignWalksAgainForReplacedKeysOnly checks how often Assign sets the foreign key of a
// note. In this tree a relation may replace the key of a part, to which other rows could
// already refer. So Assign sets all foreign keys twice, and once more each time it has
// replaced a key.
func TestAssignWalksAgainForReplacedKeysOnly(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, plugintest.NewPlugin(t))
	for name, test := range map[string]struct {
		part partTally
		note tally
		want int // how often Assign sets the foreign key of the note
	}{
		"nothing set":             {want: 2},
		"the key is right":        {part: partTally{OwnerID: 5}, want: 2},
		"the key is wrong":        {part: partTally{OwnerID: 6}, want: 3},
		"a link that is no key":   {note: tally{id: 6}, want: 2},
		"both, and one is no key": {part: partTally{OwnerID: 6}, note: tally{id: 6}, want: 3},
	} {
		tree := tallied{ID: 5, Part: &test.part, Notes: []noteTally{{TalliedID: test.note}}}
		if err := gormflake.Assign(db, &tree); err != nil {
			t.Fatal(err)
		}
		if got := tree.Notes[0].TalliedID; tree.Part.OwnerID != 5 || got.id != 5 || got.sets != test.want {
			t.Errorf("%s: part of %d, note of %d, set in %d walks, want %d", name, tree.Part.OwnerID, got.id, got.sets, test.want)
		}
	}
}

// TestAssignFailsInEachWalk checks the error of a foreign key that cannot be set. Assign
// sets the foreign key of this note three times, and the test lets one of these times fail,
// or none.
func TestAssignFailsInEachWalk(t *testing.T) {
	t.Parallel()
	for failAt := range 4 { // 0 means that no time fails
		tree := tallied{ID: 5, Part: &partTally{OwnerID: 6}, Notes: []noteTally{{TalliedID: tally{failAt: failAt}}}}
		if err := gormflake.Assign(plugintest.Dry(t, plugintest.NewPlugin(t)), &tree); errors.Is(err, plugintest.ErrInjected) != (failAt > 0) {
			t.Errorf("the link fails in walk %d: got %v", failAt, err)
		}
	}
}

// TestAssignNamesTheGeneratedPart checks the error for a composite key of which two parts are
// unset, Region and ID. The error must name ID, which the database generates. It must not
// name Region, although Region comes first, because an empty string is a valid part.
func TestAssignNamesTheGeneratedPart(t *testing.T) {
	t.Parallel()
	type (
		shelf struct {
			ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
			Region   string
			RackID   uint
			TenantID int64
		}
		rack struct {
			Region   string  `gorm:"primaryKey"`
			ID       uint    `gorm:"primaryKey;autoIncrement"`
			TenantID int64   `gorm:"primaryKey;autoIncrement:false"`
			Shelves  []shelf `gorm:"foreignKey:Region,RackID,TenantID;references:Region,ID,TenantID"`
		}
	)
	err := gormflake.Assign(plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &rack{TenantID: 3, Shelves: make([]shelf, 1)})
	want := `gormflake: Assign: rack.Shelves: rack.ID is unset and not tagged, so shelf.RackID cannot be linked: insert that row first, or tag the field with snowflake:"pk"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAssignLinksZeroParts checks that a zero part of a composite key is a valid value,
// even behind a pointer, as in GORM.
func TestAssignLinksZeroParts(t *testing.T) {
	t.Parallel()
	type (
		page struct {
			ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
			TenantID *int64
			BookID   types.ID
		}
		book struct {
			TenantID int64    `gorm:"primaryKey;autoIncrement:false"`
			ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
			Pages    []page   `gorm:"foreignKey:TenantID,BookID;references:TenantID,ID"`
		}
	)
	row := book{Pages: make([]page, 1)}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &row)
	if got := row.Pages[0]; got.BookID != row.ID || got.TenantID == nil || *got.TenantID != 0 {
		t.Errorf("page %+v of book %+v: want tenant 0", got, row)
	}
}

type (
	exhibit struct {
		ID     types.ID        `gorm:"primaryKey" snowflake:"pk"`
		Labels []*exhibitLabel `gorm:"polymorphic:Owner;polymorphicValue:exhibit"`
	}
	exhibitLabel struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType string       `gorm:"size:40"`
		Kind      *exhibitKind `gorm:"foreignKey:OwnerType;references:Name"`
	}
	exhibitKind struct {
		Name string `gorm:"primaryKey;size:40"`
	}
)

// TestAssignTypeColumnIsAForeignKey checks that the type column of a polymorphic relation
// may also be the foreign key of a belongs-to relation.
func TestAssignTypeColumnIsAForeignKey(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"exhibit", "picture"} { // if they differ, the foreign key that is set last wins, as in GORM
		label := &exhibitLabel{Kind: &exhibitKind{Name: kind}}
		row := exhibit{Labels: []*exhibitLabel{label, label}} // reached twice, so that Assign compares the parents
		plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &row)
		if label.OwnerID != row.ID || label.OwnerType != "exhibit" {
			t.Errorf("label %+v of exhibit %d and kind %s", label, row.ID, kind)
		}
	}
}

type (
	grove struct {
		ID    types.ID      `gorm:"primaryKey" snowflake:"pk"`
		Trees []groveBranch `gorm:"foreignKey:GroveID"`
	}
	groveBranch struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		GroveID  types.ID
		BranchID types.ID
		Branches []groveBranch `gorm:"foreignKey:BranchID"`
	}
)

// TestAssignCycleBelowTheRoot checks that Assign ends if a relation leads from a model to
// the same model, here from a branch to branches, below a row of another model.
func TestAssignCycleBelowTheRoot(t *testing.T) {
	t.Parallel()
	row := grove{Trees: []groveBranch{{Branches: make([]groveBranch, 1)}}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &row)
	tree := row.Trees[0]
	if tree.GroveID != row.ID || tree.Branches[0].BranchID != tree.ID || tree.ID == 0 {
		t.Errorf("tree %+v of grove %d", tree, row.ID)
	}
}

// A warp contains wefts, and a weft contains warps.
type (
	warp struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		WeftID types.ID
		Wefts  []weft `gorm:"foreignKey:WarpID"`
	}
	weft struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		WarpID types.ID
		Warps  []warp `gorm:"foreignKey:WeftID"`
	}
)

// TestAssignSlicesThatContainEachOther checks that Assign ends for slices of two models that
// contain each other.
func TestAssignSlicesThatContainEachOther(t *testing.T) {
	t.Parallel()
	warps, wefts := make([]warp, 1), make([]weft, 1)
	warps[0].Wefts, wefts[0].Warps = wefts, warps
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), warps)
	if warps[0].ID == 0 || wefts[0].WarpID != warps[0].ID || warps[0].WeftID != wefts[0].ID || wefts[0].ID == 0 {
		t.Errorf("warp %d of %d, weft %d of %d", warps[0].ID, warps[0].WeftID, wefts[0].ID, wefts[0].WarpID)
	}
}

type (
	letter struct {
		ID     types.ID      `gorm:"primaryKey" snowflake:"pk"`
		Stamps []letterStamp `gorm:"foreignKey:LetterID"`
	}
	letterStamp struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		LetterID types.ID
		Letter   letter `gorm:"foreignKey:LetterID"`
	}
)

// TestAssignParentByValue checks a back reference by value, which is another struct than the
// parent. A zero struct is no parent. A struct with the key of the parent is the same row. A
// struct with another key is a second parent, which is an error.
func TestAssignParentByValue(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	for _, back := range []types.ID{0, 5} {
		row := letter{ID: 5, Stamps: []letterStamp{{Letter: letter{ID: back}}}}
		plugintest.AssignOrFail(t, db, &row)
		if row.Stamps[0].LetterID != 5 {
			t.Errorf("stamp %+v, want letter 5", row.Stamps[0])
		}
	}
	err := gormflake.Assign(db, &letter{ID: 5, Stamps: []letterStamp{{Letter: letter{ID: 6}}}})
	if want := "gormflake: Assign: letterStamp.LetterID: got two parents for one row, by letter.Stamps[0] and by letter.Stamps[0].Letter: point both to the same parent"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
