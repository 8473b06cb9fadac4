package tree_test

import (
	"slices"
	"testing"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// assignExtension has the key of its order as its own key. Its parts refer to this key.
type assignExtension struct {
	OrderID types.ID                `gorm:"primaryKey;autoIncrement:false"`
	Order   *plugintest.AssignOrder `gorm:"foreignKey:OrderID"`
	Parts   []assignExtensionPart   `gorm:"foreignKey:ExtensionID;references:OrderID"`
}

type assignExtensionPart struct {
	ID          types.ID `gorm:"primaryKey" snowflake:"pk"`
	ExtensionID types.ID
}

// TestAssignHandsOnWhatBelongsToBrings checks that a row passes the key that it gets from
// its parent, by a belongs-to relation, on to its own children.
func TestAssignHandsOnWhatBelongsToBrings(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	e := assignExtension{Order: &plugintest.AssignOrder{}, Parts: make([]assignExtensionPart, 1)}
	plugintest.AssignOrFail(t, db, &e)
	if e.Order.ID == 0 || e.OrderID != e.Order.ID || e.Parts[0].ExtensionID != e.Order.ID {
		t.Errorf("order %v, extension of %v, part of %v: want one key", e.Order.ID, e.OrderID, e.Parts[0].ExtensionID)
	}
}

// assignArea has spots that refer to it by two columns, of which one may be NULL.
type assignArea struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Region *int64
	Spots  []assignSpot `gorm:"foreignKey:Region,AreaID;references:Region,ID"`
}

type assignSpot struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Region *int64
	AreaID types.ID
}

// TestAssignCarriesNull checks that Assign sets a column of a foreign key to NULL if the
// parent's column is NULL.
func TestAssignCarriesNull(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	area := assignArea{Spots: []assignSpot{{Region: new(int64)}}}
	plugintest.AssignOrFail(t, db, &area)
	if spot := area.Spots[0]; spot.Region != nil || spot.AreaID != area.ID {
		t.Errorf("spot %+v, want no region and area %v", spot, area.ID)
	}
}

// assignMeter and assignGauge have untagged keys that are numbers. Their readings refer to
// them by a string.
type assignMeter struct {
	Number   uint64          `gorm:"primaryKey;autoIncrement:false"`
	Readings []assignReading `gorm:"foreignKey:Meter"`
}

type assignReading struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Meter *string
}

type assignGauge struct {
	Number   int32         `gorm:"primaryKey;autoIncrement:false"`
	Readings []assignDepth `gorm:"foreignKey:Gauge"`
}

type assignDepth struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Gauge *string
}

// TestAssignWritesNumbersOut checks that a foreign key of type string gets the decimal
// text of an untagged number, and not the character with that code point.
func TestAssignWritesNumbersOut(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, plugintest.NewAssignGenerator())
	gauge := assignGauge{Number: -42, Readings: make([]assignDepth, 1)}
	plugintest.AssignOrFail(t, db, &gauge)
	if got := *gauge.Readings[0].Gauge; got != "-42" {
		t.Errorf("reading of gauge %q, want -42", got)
	}
	meter := assignMeter{Number: 1<<63 + 1, Readings: make([]assignReading, 1)}
	plugintest.AssignOrFail(t, db, &meter)
	if got := *meter.Readings[0].Meter; got != "9223372036854775809" {
		t.Errorf("reading of meter %q, want 9223372036854775809", got)
	}
}

// TestAssignRowGivenTwice checks that a row that is twice in the slice gets its keys once.
func TestAssignRowGivenTwice(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewAssignGenerator()
	serial := &plugintest.AssignSerial{}
	plugintest.AssignOrFail(t, plugintest.NoDatabase(t, gen), []*plugintest.AssignSerial{serial, serial})
	if !slices.Equal(gen.Blocks, []int{2}) {
		t.Errorf("blocks %v, want one of the two keys of one row", gen.Blocks)
	}
}
