package fill_test

import (
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// cabinet has its key in an embedded struct.
type cabinet struct {
	gormflake.Model
	Room string
}

// TestLists checks the keys of lists of all forms. For a list of structs with one integer
// key the plugin writes the keys without reflection, and must not do so for other lists.
func TestLists(t *testing.T) {
	t.Parallel()
	all := func(db *gorm.DB) *gorm.DB { return db }
	unpublished := func(db *gorm.DB) *gorm.DB { return db.Omit("Public") }
	structs, array := []plugintest.Entry{{}, {ID: plugintest.Preset}, {}}, [2]plugintest.Entry{}
	pointers, embedded := []*plugintest.Entry{{}, {ID: plugintest.Preset}}, []cabinet{{}, {}}
	two := []plugintest.Catalog{{}, {ID: plugintest.Preset}, {Public: plugintest.Preset}}
	one := []plugintest.Catalog{{}, {ID: plugintest.Preset}}
	for _, test := range []struct {
		name string
		rows any
		how  func(*gorm.DB) *gorm.DB
		keys func() []types.ID
		want []types.ID
	}{
		{"structs", &structs, all, func() []types.ID { return []types.ID{structs[0].ID, structs[1].ID, structs[2].ID} }, []types.ID{1001, plugintest.Preset, 1002}},
		{"array", &array, all, func() []types.ID { return []types.ID{array[0].ID, array[1].ID} }, []types.ID{1001, 1002}},
		{"pointers", &pointers, all, func() []types.ID { return []types.ID{pointers[0].ID, pointers[1].ID} }, []types.ID{1001, plugintest.Preset}},
		{"embedded key", &embedded, all, func() []types.ID { return []types.ID{embedded[0].ID, embedded[1].ID} }, []types.ID{1001, 1002}},
		{"two keys", &two, all, func() []types.ID {
			return []types.ID{two[0].ID, two[1].ID, two[2].ID, two[0].Public, two[1].Public, two[2].Public}
		}, []types.ID{1001, plugintest.Preset, 1004, 1002, 1003, plugintest.Preset}},
		{"one key of two omitted", &one, unpublished, func() []types.ID { return []types.ID{one[0].ID, one[1].ID, one[0].Public, one[1].Public} }, []types.ID{1001, plugintest.Preset, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gen := &plugintest.Counter{}
			plugintest.Must(t, test.how(plugintest.Dry(t, gormflake.New(gen))).Create(test.rows))
			if got := test.keys(); !slices.Equal(got, test.want) {
				t.Errorf("keys = %d, want %d", got, test.want)
			}
			if last := lastMade(test.want); gen.Last != last {
				t.Errorf("%d IDs were asked for, want %d", gen.Last-1000, last-1000)
			}
		})
	}
}

// TestListChangesDuringTheCall checks a create of a list in which another goroutine clears a
// key while the generator runs. The list then needs more IDs than the plugin has asked for.
// The create must return an error, and leave no row without a key.
func TestListChangesDuringTheCall(t *testing.T) {
	t.Parallel()
	rows := []plugintest.Entry{{}, {ID: plugintest.Preset}}
	gen := &plugintest.Meddler{LayoutCounter: plugintest.LayoutCounter{IDLayout: snowflake.TwitterLayout()}, Meddle: func() { rows[1].ID = 0 }}
	err := plugintest.Dry(t, gormflake.New(gen)).Create(&rows).Error
	if want := "gormflake: model Entry: the rows were modified concurrently: do not share them until Create returns"; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// lastMade returns the largest of the keys that a counter has generated, or 0.
func lastMade(keys []types.ID) (last types.ID) {
	for _, key := range keys {
		if key != plugintest.Preset {
			last = max(last, key)
		}
	}
	return last
}
