package fill_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"testing"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestSerialSource checks from which ID a serial number is made, and how many IDs a row
// takes.
func TestSerialSource(t *testing.T) {
	t.Parallel()
	type (
		textKey struct {
			ID     string `gorm:"primaryKey" snowflake:"pk"`
			Number string `snowflake:"serial=PAY"`
		}
		unsignedKey struct {
			ID     uint64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
			Number string `snowflake:"serial=PAY"`
		}
		pointerKey struct {
			Number string    `snowflake:"serial=PAY"`
			ID     *types.ID `gorm:"primaryKey" snowflake:"pk"`
		}
		otherKey struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk,gen=other"`
			Number string   `snowflake:"serial=PAY"`
		}
		sameKey struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk,gen=other"`
			Number string   `snowflake:"serial=PAY,gen=other"`
		}
		ownKey struct {
			ID     string `gorm:"primaryKey"`
			Number string `snowflake:"serial=PAY"`
		}
		publicID struct {
			ID     string   `gorm:"primaryKey"`
			Public types.ID `snowflake:"id"`
			Number string   `snowflake:"serial=PAY"`
		}
		serialKey struct {
			Number string `gorm:"primaryKey" snowflake:"serial=PAY"`
		}
		composite struct {
			Left   types.ID `gorm:"primaryKey" snowflake:"pk"`
			Right  types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number string   `snowflake:"serial=PAY"`
		}
		twoNumbers struct {
			ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number  string   `snowflake:"serial=PAY"`
			Invoice string   `snowflake:"serial=INV"`
		}
		twoFresh struct {
			ID      string `gorm:"primaryKey"`
			Number  string `snowflake:"serial=PAY"`
			Invoice string `snowflake:"serial=INV"`
		}
	)
	const bound = types.ID(1<<53 - 1) // the last ID of the layout
	pay := func(id types.ID) string { return plugintest.JSNumbers.Format(id) }
	invoice := func(id types.ID) string { return "INV" + pay(id)[3:] }
	id := types.ID(8)
	for _, test := range []struct {
		name   string
		row    any
		want   any
		ids    int // number of IDs of the default generator, from 1001 on
		others int // number of IDs of the second generator, from 5001 on
	}{
		{"key filled", &plugintest.Payment{}, &plugintest.Payment{ID: 1001, Number: pay(1001)}, 1, 0},
		{"key set", &plugintest.Payment{ID: 1 << 50}, &plugintest.Payment{ID: 1 << 50, Number: pay(1 << 50)}, 0, 0},
		{"old key", &plugintest.Payment{ID: 17}, &plugintest.Payment{ID: 17, Number: pay(17)}, 0, 0},
		{"last key", &plugintest.Payment{ID: bound}, &plugintest.Payment{ID: bound, Number: pay(bound)}, 0, 0},
		{"key above the layout", &plugintest.Payment{ID: bound + 1}, &plugintest.Payment{ID: bound + 1, Number: pay(1001)}, 1, 0},
		{"negative key", &plugintest.Payment{ID: -17}, &plugintest.Payment{ID: -17, Number: pay(1001)}, 1, 0},
		{"number set", &plugintest.Payment{Number: "x"}, &plugintest.Payment{ID: 1001, Number: "x"}, 1, 0},
		{"all set", &plugintest.Payment{ID: -17, Number: "x"}, &plugintest.Payment{ID: -17, Number: "x"}, 0, 0},
		{"text key", &textKey{}, &textKey{"1001", pay(1001)}, 1, 0},
		{"text key set", &textKey{ID: "17"}, &textKey{"17", pay(17)}, 0, 0},
		{"text key that is not an ID", &textKey{ID: "a17"}, &textKey{"a17", pay(1001)}, 1, 0},
		{"unsigned key", &unsignedKey{ID: 17}, &unsignedKey{17, pay(17)}, 0, 0},
		{"unsigned key above an ID", &unsignedKey{ID: 1<<64 - 1}, &unsignedKey{1<<64 - 1, pay(1001)}, 1, 0},
		{"pointer key set", &pointerKey{ID: &id}, &pointerKey{pay(8), &id}, 0, 0},
		{"key of another generator", &otherKey{}, &otherKey{5001, pay(1001)}, 1, 1},
		{"both of another generator", &sameKey{}, &sameKey{5001, pay(5001)}, 0, 1},
		{"key without tag", &ownKey{ID: "17"}, &ownKey{"17", pay(1001)}, 1, 0},
		{"ID that is not a key", &publicID{ID: "17"}, &publicID{"17", 1001, pay(1002)}, 2, 0},
		{"the key itself", &serialKey{}, &serialKey{pay(1001)}, 1, 0},
		{"composite key", &composite{}, &composite{1001, 1002, pay(1003)}, 3, 0},
		{"composite key set", &composite{Left: 1, Right: 2}, &composite{1, 2, pay(1001)}, 1, 0},
		{"two numbers", &twoNumbers{}, &twoNumbers{1001, pay(1001), invoice(1001)}, 1, 0},
		{"second of two numbers", &twoNumbers{ID: 5, Number: "x"}, &twoNumbers{5, "x", invoice(5)}, 0, 0},
		{"two numbers of a fresh ID", &twoFresh{ID: "a"}, &twoFresh{"a", pay(1001), invoice(1001)}, 1, 0},
	} {
		for _, how := range []string{"Create", "Assign"} {
			t.Run(test.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				row := plugintest.CopyOf(test.row)
				gen := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}
				other := &plugintest.LayoutCounter{Counter: plugintest.Counter{Last: 5000}, IDLayout: snowflake.JSSafeLayout()}
				db := plugintest.Dry(t, gormflake.New(gen, gormflake.WithGenerator("other", other)))
				if how == "Create" {
					plugintest.Must(t, db.Create(row))
				} else if err := gormflake.Assign(db, row); err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprintf("%+v", plugintest.Deref(row)), fmt.Sprintf("%+v", plugintest.Deref(test.want)); got != want {
					t.Errorf("row = %s\nwant  %s", got, want)
				}
				if ids, others := plugintest.Made(&gen.Counter, 1000), plugintest.Made(&other.Counter, 5000); ids != test.ids || others != test.others {
					t.Errorf("%d and %d IDs were made, want %d and %d", ids, others, test.ids, test.others)
				}
				if gen.Calls > 1 || other.Calls > 1 {
					t.Errorf("%d and %d calls of the generators", gen.Calls, other.Calls)
				}
			})
		}
	}
}

// TestSerialMixedSlice checks a slice of rows that lack all, some or no IDs. The plugin
// calls the generator once for them.
func TestSerialMixedSlice(t *testing.T) {
	t.Parallel()
	gen := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}
	rows := []plugintest.Payment{{}, {ID: -1}, {ID: 5}, {Number: "x"}, {ID: -2, Number: "y"}, {}, {ID: 1 << 60}}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(gen)).Create(&rows))
	pay := plugintest.JSNumbers.Format
	want := []plugintest.Payment{
		{ID: 1001, Number: pay(1001)},
		{ID: -1, Number: pay(1002)},
		{ID: 5, Number: pay(5)},
		{ID: 1003, Number: "x"},
		{ID: -2, Number: "y"},
		{ID: 1004, Number: pay(1004)},
		{ID: 1 << 60, Number: pay(1005)},
	}
	if !slices.Equal(rows, want) || gen.Calls != 1 || gen.Last != 1005 {
		t.Errorf("rows = %v\nwant  %v; %d calls, last %d", rows, want, gen.Calls, gen.Last)
	}
}

// TestSerialMaps checks from which ID the serial number in a map is made, for each form
// in which a map can hold the key, and that the plugin writes only values that the map
// lacks.
func TestSerialMaps(t *testing.T) {
	t.Parallel()
	id, zero := types.ID(17), types.ID(0)
	for _, test := range []struct {
		name string
		row  map[string]any
		want map[string]any
	}{
		{"nothing", map[string]any{}, map[string]any{"id": types.ID(1001), "number": plugintest.JSNumbers.Format(1001)}},
		{"key", map[string]any{"id": 17}, map[string]any{"id": 17, "number": plugintest.JSNumbers.Format(17)}},
		{"key by field", map[string]any{"ID": id}, map[string]any{"ID": id, "number": plugintest.JSNumbers.Format(17)}},
		{"pointer", map[string]any{"id": &id}, map[string]any{"id": &id, "number": plugintest.JSNumbers.Format(17)}},
		{"pointer to zero", map[string]any{"id": &zero}, map[string]any{"id": types.ID(1001), "number": plugintest.JSNumbers.Format(1001)}},
		{"unsigned", map[string]any{"id": uint32(17)}, map[string]any{"id": uint32(17), "number": plugintest.JSNumbers.Format(17)}},
		{"text", map[string]any{"id": "17"}, map[string]any{"id": "17", "number": plugintest.JSNumbers.Format(17)}},
		{"NULL", map[string]any{"id": sql.NullInt64{}}, map[string]any{"id": types.ID(1001), "number": plugintest.JSNumbers.Format(1001)}},
		{"valuer", map[string]any{"id": sql.NullInt64{Int64: 17, Valid: true}}, map[string]any{"id": sql.NullInt64{Int64: 17, Valid: true}, "number": plugintest.JSNumbers.Format(17)}},
		{"above the layout", map[string]any{"id": int64(1 << 60)}, map[string]any{"id": int64(1 << 60), "number": plugintest.JSNumbers.Format(1001)}},
		{"negative", map[string]any{"id": -1}, map[string]any{"id": -1, "number": plugintest.JSNumbers.Format(1001)}},
		{"number set", map[string]any{"Number": "x"}, map[string]any{"id": types.ID(1001), "Number": "x"}},
		{"number empty", map[string]any{"Number": ""}, map[string]any{"id": types.ID(1001), "Number": plugintest.JSNumbers.Format(1001)}},
		{"all set", map[string]any{"id": -1, "number": "x"}, map[string]any{"id": -1, "number": "x"}},
		{"empty valuer", map[string]any{"number": sql.NullString{Valid: true}}, map[string]any{"id": types.ID(1001), "number": plugintest.JSNumbers.Format(1001)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gen := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}
			// The second map lacks nothing. The number of the third is made from a new ID, the
			// last, because its key is negative.
			rows := []map[string]any{test.row, {"id": 18, "number": "y"}, {"id": -18}}
			plugintest.Must(t, plugintest.Dry(t, gormflake.New(gen)).Model(&plugintest.Payment{}).Create(&rows))
			if got, want := fmt.Sprint(rows[0]), fmt.Sprint(test.want); got != want {
				t.Errorf("map = %s, want %s", got, want)
			}
			if got, want := fmt.Sprint(rows[1:]), fmt.Sprintf("[map[id:18 number:y] map[id:-18 number:%s]]", plugintest.JSNumbers.Format(gen.Last)); got != want || gen.Calls != 1 {
				t.Errorf("maps = %s, want %s; %d calls", got, want, gen.Calls)
			}
		})
	}
}

// TestSerialMapTextKey checks maps whose key is text. The serial number is made from the key
// if this is the canonical text of an integer, such as 17. A text such as 017 is the key of
// another row than 17, so its serial number must be made from a new ID.
func TestSerialMapTextKey(t *testing.T) {
	t.Parallel()
	type textKey struct {
		ID     string `gorm:"primaryKey" snowflake:"pk"`
		Number string `snowflake:"serial=PAY"`
	}
	rows := []map[string]any{{"id": "17"}, {"id": "017"}, {"id": []byte("0017")}, {"id": []byte("18")}, {"id": 19}, {"id": types.ID(20)}}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Model(&textKey{}).Create(&rows))
	for i, want := range []types.ID{17, 1001, 1002, 18, 19, 20} {
		if got := rows[i]["number"]; got != plugintest.Numbers("PAY").Format(want) {
			t.Errorf("key %s: number %v, want the one of %d", rows[i]["id"], got, want)
		}
	}
}

// changingValue returns another value at each call.
type changingValue struct{ values []int64 }

func (f *changingValue) Value() (driver.Value, error) {
	v := f.values[0]
	f.values = append(f.values[1:], v)
	return v, nil
}

// TestSerialMapFickle checks a key whose method Value returns another value at each call. The
// plugin and the driver call the method several times. In each order of values, the create
// must store a row, or return an error that names the change or the unset key.
func TestSerialMapFickle(t *testing.T) {
	t.Parallel()
	for n := range 16 {
		// The bits of n choose the values, of which the last is 0 or -1 and the others 0 or 1.
		values := []int64{int64(n) & 1, int64(n) >> 1 & 1, int64(n) >> 2 & 1, int64(n)>>3&1 - 1}
		err := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Model(&plugintest.Payment{}).Create(map[string]any{"id": &changingValue{values}}).Error
		want := []string{
			"gormflake: model Payment: the map was modified concurrently: do not share it until Create returns", plugintest.Unset("Payment", "ID", plugintest.ByMap), plugintest.Unset("Payment", "ID", plugintest.ByHook),
			"gormflake: model Payment, field ID: the key was changed since Number was made from it: set both, or neither",
		}
		if err != nil && !slices.Contains(want, err.Error()) {
			t.Errorf("values %v: %v, want one of %q", values, err, want)
		}
	}
}

// TestSerialMapTwoNumbers checks that the plugin keeps the serial number that a map has,
// and sets the second serial number, which the map lacks.
func TestSerialMapTwoNumbers(t *testing.T) {
	t.Parallel()
	type twoNumbers struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number  string   `snowflake:"serial=PAY"`
		Invoice string   `snowflake:"serial=INV"`
	}
	m := map[string]any{"id": 5, "Number": "x"}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Model(&twoNumbers{}).Create(m))
	if got, want := fmt.Sprint(m), fmt.Sprintf("map[Number:x id:5 invoice:%s]", plugintest.Numbers("INV").Format(5)); got != want {
		t.Errorf("map = %s, want %s", got, want)
	}
}
