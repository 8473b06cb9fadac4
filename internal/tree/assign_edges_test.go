package tree_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// The models of TestAssignWalksOnce. The foreign key of noteOnce counts how often it is
// set.
type (
	ownerOfShared struct {
		ID    types.ID    `gorm:"primaryKey" snowflake:"pk"`
		Notes []*noteOnce `gorm:"foreignKey:OwnerID"`
	}
	ownerOfParts struct {
		ID    types.ID   `gorm:"primaryKey" snowflake:"pk"`
		Parts []partOnce `gorm:"foreignKey:OwnerID"`
		Notes []noteOnce `gorm:"foreignKey:OwnerID"`
	}
	// partOnce has its owner's key. Only its owner's slice leads to it.
	partOnce struct {
		OwnerID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	noteOnce struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID tally    `gorm:"type:bigint"`
	}
)

// TestAssignWalksOnce checks trees in which no relation can replace a key after another row
// has copied it. Assign must then set each foreign key once, because a second time would
// cost as much as the first. TestAssignWalksAgainForReplacedKeysOnly has trees in which a
// second time is necessary.
func TestAssignWalksOnce(t *testing.T) {
	t.Parallel()
	shared := ownerOfShared{ID: 5, Notes: []*noteOnce{{}}}
	parts := ownerOfParts{ID: 5, Parts: []partOnce{{OwnerID: 6}}, Notes: make([]noteOnce, 1)}
	for name, test := range map[string]struct {
		tree any
		note *tally
	}{
		"shared rows with keys of their own":  {&shared, &shared.Notes[0].OwnerID},
		"rows of one owner that have its key": {&parts, &parts.Notes[0].OwnerID},
	} {
		plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), test.tree)
		if test.note.id != 5 || test.note.sets != 1 {
			t.Errorf("%s: note of %d, set %d times, want 5, once", name, test.note.id, test.note.sets)
		}
	}
	if parts.Parts[0].OwnerID != 5 {
		t.Errorf("part of %d, want 5", parts.Parts[0].OwnerID)
	}
}

// ebb and flow each get their key from the row that contains them.
type (
	ebb struct {
		EbbID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Flow  *flow    `gorm:"foreignKey:FlowID"`
	}
	flow struct {
		FlowID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Ebb    *ebb     `gorm:"foreignKey:EbbID"`
	}
)

// TestAssignReplacesEveryKey checks a list of two rows, of which the second contains the
// first. Each ebb and each flow has the key of the row that contains it. So Assign replaces
// the key of the first row after the flow of this row has copied it. All rows must get the
// key 7 of the second row, although no model of the tree has only keys of its own.
func TestAssignReplacesEveryKey(t *testing.T) {
	t.Parallel()
	// Only the key 7 of second is not replaced by the key of another row.
	first := &ebb{EbbID: 5, Flow: &flow{FlowID: 6}}
	second := &ebb{EbbID: 7, Flow: &flow{FlowID: 8, Ebb: first}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), []*ebb{first, second})
	if second.EbbID != 7 || second.Flow.FlowID != 7 || first.EbbID != 7 || first.Flow.FlowID != 7 {
		t.Errorf("keys %d, %d, %d and %d, want 7", second.EbbID, second.Flow.FlowID, first.EbbID, first.Flow.FlowID)
	}
}

// A seal gets its key from a deed and from a survey, which have different keys.
type (
	estate struct {
		ID     types.ID   `gorm:"primaryKey" snowflake:"pk"`
		Deed   *deed      `gorm:"foreignKey:EstateID"`
		Survey *survey    `gorm:"foreignKey:EstateID"`
		Notes  []noteOnce `gorm:"foreignKey:OwnerID"`
	}
	deed struct {
		EstateID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Seal     *seal    `gorm:"foreignKey:SealID"`
	}
	survey struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		EstateID types.ID
		Seal     *seal `gorm:"foreignKey:SealID"`
	}
	seal struct {
		SealID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
)

// TestAssignEndsWhereKeysAlternate checks that Assign ends although a deed and a survey
// replace the key of one seal in turn, each time that Assign sets the keys of the tree.
// Assign must set them only as many times more as there are models.
func TestAssignEndsWhereKeysAlternate(t *testing.T) {
	t.Parallel()
	shared := &seal{}
	row := estate{ID: 5, Deed: &deed{Seal: shared}, Survey: &survey{ID: 9, Seal: shared}, Notes: make([]noteOnce, 1)}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &row)
	if row.Deed.EstateID != 5 || row.Survey.EstateID != 5 || shared.SealID != 9 {
		t.Errorf("deed of %d, survey of %d, seal of %d, want 5, 5 and 9", row.Deed.EstateID, row.Survey.EstateID, shared.SealID)
	}
	// Assign sets the foreign key of the note the first time, once more for each of the
	// five models, and when it sets serial numbers.
	if got, want := row.Notes[0].OwnerID.sets, 1+5+1; got != want {
		t.Errorf("%d walks, want %d", got, want)
	}
}

// relic, crate and aisle are parents of three forms. A plaque belongs to a relic by one of
// two relations, front and back. A crate has its key behind a pointer. The seats of an aisle
// refer to it by a column of one byte.
type (
	relic struct {
		ID    types.ID  `gorm:"primaryKey" snowflake:"pk"`
		Front []*plaque `gorm:"polymorphic:Owner;polymorphicValue:front"`
		Back  []*plaque `gorm:"polymorphic:Owner;polymorphicValue:back"`
	}
	plaque struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType string
	}
	// CrateKey is exported because it is embedded by a pointer.
	CrateKey struct {
		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	crate struct {
		*CrateKey
		Items []*crateItem `gorm:"foreignKey:CrateID"`
	}
	crateItem struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		CrateID types.ID
	}
	aisle struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Letter uint8
		Seats  []aisleSeat `gorm:"foreignKey:Letter;references:Letter"`
	}
	// aisleSeat is the smallest possible row.
	aisleSeat struct{ Letter uint8 }
)

// TestAssignRejectsTwoParentsOfAnyShape checks that Assign detects a row with two parents in
// three unusual cases. Both parents are the same row in two relations, or the keys of the
// parents are behind nil pointers, or the shared rows have only one byte.
func TestAssignRejectsTwoParentsOfAnyShape(t *testing.T) {
	t.Parallel()
	label, item, seats := &plaque{}, &crateItem{}, make([]aisleSeat, 2)
	for name, test := range map[string]struct {
		tree any
		want string
	}{
		"one parent in two roles": {
			&relic{ID: 5, Front: []*plaque{label}, Back: []*plaque{label}},
			"plaque.OwnerType: got two parents for one row, by relic.Front[0] and by relic.Back[0]: give each parent its own copy",
		},
		"keys behind nil pointers": {
			[]*crate{{Items: []*crateItem{item}}, {Items: []*crateItem{item}}},
			"crateItem.CrateID: got two parents for one row, by crate[0].Items[0] and by crate[1].Items[0]: give each parent its own copy",
		},
		"rows of one byte": {
			[]aisle{{ID: 5, Letter: 'A', Seats: seats}, {ID: 6, Letter: 'B', Seats: seats}},
			"aisleSeat.Letter: got two parents for one row, by aisle[0].Seats[0] and by aisle[1].Seats[0]: give each parent its own copy",
		},
	} {
		gen := plugintest.NewAssignGenerator()
		err := gormflake.Assign(plugintest.NoDatabase(t, gen), test.tree)
		if err == nil || err.Error() != "gormflake: Assign: "+test.want || len(gen.Blocks) > 0 {
			t.Errorf("%s: got %v and %d blocks of keys\nwant %s", name, err, len(gen.Blocks), test.want)
		}
	}
}

type (
	landlord struct {
		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	lodger struct {
		ID         types.ID `gorm:"primaryKey" snowflake:"pk"`
		LandlordID types.ID
		Landlord   *landlord
		Rules      []*houseRule `gorm:"foreignKey:LandlordID;references:LandlordID"`
	}
	houseRule struct {
		ID         types.ID `gorm:"primaryKey" snowflake:"pk"`
		LandlordID types.ID
	}
)

// TestAssignAcceptsParentsThatShareAReference checks that two parents may share a row, if the
// column by which the row refers to them will have the same value in both. Here two lodgers
// share a rule, which gets the LandlordID of both, and both lodgers have the same landlord.
func TestAssignAcceptsParentsThatShareAReference(t *testing.T) {
	t.Parallel()
	owner, rules := &landlord{}, []*houseRule{{}}
	lodgers := []*lodger{{Landlord: owner, Rules: rules}, {Landlord: owner, Rules: rules}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), lodgers)
	if owner.ID == 0 || rules[0].LandlordID != owner.ID {
		t.Errorf("rule of %d, want %d", rules[0].LandlordID, owner.ID)
	}
}

// moody is the type of a column that may reject its value.
type moody struct {
	text    string
	refuses bool
}

func (m *moody) Scan(value any) error {
	if m.refuses {
		return plugintest.ErrInjected
	}
	m.text, _ = value.(string)
	return nil
}

func (m moody) Value() (driver.Value, error) { return m.text, nil }

type (
	museum struct {
		ID    types.ID     `gorm:"primaryKey" snowflake:"pk"`
		Items []museumItem `gorm:"polymorphic:Owner"`
	}
	museumItem struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType moody `gorm:"type:varchar(40)"`
	}
)

// TestAssignTypeColumnThatFails checks that the error names the type column of a
// polymorphic relation if a single row rejects the type.
func TestAssignTypeColumnThatFails(t *testing.T) {
	t.Parallel()
	row := museum{Items: make([]museumItem, 2)}
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	plugintest.AssignOrFail(t, db, &row)
	if got := row.Items[1].OwnerType.text; got != "museums" {
		t.Errorf("item of a %q, want museums", got)
	}
	row.Items[1].OwnerType.refuses = true
	err := gormflake.Assign(db, &row)
	if !errors.Is(err, plugintest.ErrInjected) || !strings.HasPrefix(err.Error(), "gormflake: Assign: museum.Items: set museumItem.OwnerType: ") {
		t.Errorf("got %v, want that the second item fails", err)
	}
}

type (
	stage struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Props []prop   `gorm:"polymorphic:Owner;polymorphicValue:"`
	}
	prop struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType string
	}
)

// TestAssignEmptyTypeOfRelation checks that the type column does not change if the
// relation has an empty type, as in GORM.
func TestAssignEmptyTypeOfRelation(t *testing.T) {
	t.Parallel()
	row := stage{Props: []prop{{OwnerType: "kept"}}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, plugintest.NewAssignGenerator()), &row)
	if got := row.Props[0]; row.ID == 0 || got.OwnerID != row.ID || got.OwnerType != "kept" {
		t.Errorf("prop %+v of stage %d", got, row.ID)
	}
}

type (
	folder struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Index *index   `gorm:"foreignKey:FolderID"`
	}
	// index has its folder's key, and a serial number.
	index struct {
		FolderID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number   string   `snowflake:"serial=PAY"`
	}
)

// TestAssignWastesNoIDs checks that no ID is generated for a serial number that is set.
func TestAssignWastesNoIDs(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewLayoutCounter()
	row := folder{ID: 5, Index: &index{FolderID: 5, Number: "set"}}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, gen), &row)
	if gen.Calls != 0 || row.Index.Number != "set" {
		t.Errorf("%d calls of the generator, index %+v", gen.Calls, row.Index)
	}
}
