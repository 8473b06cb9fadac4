package integrations_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"testing"

	"github.com/go-viper/mapstructure/v2"
	"github.com/gocarina/gocsv"
	"github.com/hamba/avro/v2"
	"github.com/jinzhu/copier"
	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/xuri/excelize/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/fx"

	"github.com/gormflake/gormflake/types"
)

// TestKoanf checks that koanf reads IDs from texts. A number loses its digits, because koanf
// reads it as a float64.
func TestKoanf(t *testing.T) {
	t.Parallel()
	parse := func(in string) (types.ID, error) {
		t.Helper()
		k := koanf.New(".")
		if err := k.Load(rawbytes.Provider([]byte(in)), json.Parser()); err != nil {
			t.Fatal(err)
		}
		var c struct {
			ID types.ID `koanf:"id"`
		}
		err := k.Unmarshal("", &c)
		return c.ID, err
	}
	if id, err := parse(`{"id":"7529595880471527425"}`); err != nil || id != sample {
		t.Errorf("got %v, %v", id, err)
	}
	if id, err := parse(`{"id":7529595880471527425}`); err != nil || id != 7529595880471527424 {
		t.Errorf("the number is read as %d, %v; the page says that its digits are lost", id, err)
	}
	_, err := parse(`{"id":""}`)
	wantError(t, err, "empty: want decimal digits")
}

// TestLoose checks the values that conversions give an ID if they bypass its parsers,
// without an error. The page warns of them.
func TestLoose(t *testing.T) {
	t.Parallel()
	type view struct{ ID types.ID }
	from := func(value any) map[string]any { return map[string]any{"id": value} }
	for _, test := range []struct {
		name string
		read func(id *view) error
		want types.ID
	}{
		{"mapstructure, 5.5", func(v *view) error { return mapstructure.Decode(from(5.5), v) }, 5},
		{"mapstructure, weakly 0x10", func(v *view) error { return mapstructure.WeakDecode(from("0x10"), v) }, 16},
		{"mapstructure, weakly empty", func(v *view) error { return mapstructure.WeakDecode(from(""), v) }, 0},
		{"copier, 5.5", func(v *view) error { return copier.Copy(v, struct{ ID float64 }{5.5}) }, 5},
		{"copier, x", func(v *view) error { return copier.Copy(v, struct{ ID string }{"x"}) }, 0},
		{"bson, true", func(v *view) error { return bson.Unmarshal(must(bson.Marshal(from(true)))(t), v) }, 1},
		{"Sscan, 5.5", func(v *view) error { _, err := fmt.Sscan("5.5", &v.ID); return err }, 5},
		{"Sscan, 010", func(v *view) error { _, err := fmt.Sscan("010", &v.ID); return err }, 8},
	} {
		got := view{sample}
		if err := test.read(&got); err != nil || got.ID != test.want {
			t.Errorf("%s: read as %d, %v; the page says %d", test.name, got.ID, err, test.want)
		}
	}
	for _, value := range []any{5.5, "12"} {
		wantError(t, bson.Unmarshal(must(bson.Marshal(from(value)))(t), new(view)), "error decoding key id")
	}
}

// TestGobSession checks that gob keeps a typed ID in a map[any]any, as many sessions are,
// but only after its type was registered.
func TestGobSession(t *testing.T) {
	t.Parallel()
	session := map[any]any{"user": types.Of[order](sample)}
	var b bytes.Buffer
	wantError(t, gob.NewEncoder(&b).Encode(session), "type not registered")
	gob.Register(types.Of[order](0))
	b.Reset()
	var back map[any]any
	if err := gob.NewEncoder(&b).Encode(session); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&b).Decode(&back); err != nil || back["user"] != session["user"] {
		t.Errorf("got %v, %v", back, err)
	}
}

// TestGocsv checks that a CSV file keeps IDs. An empty field is an absent ID only with
// the tag omitempty.
func TestGocsv(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     types.ID  `csv:"id"`
		Parent *types.ID `csv:"parent,omitempty"`
	}
	written := must(gocsv.MarshalString([]row{{ID: sample}}))(t)
	var rows []row
	if err := gocsv.UnmarshalString(written, &rows); err != nil || rows[0] != (row{ID: sample}) {
		t.Errorf("got %v, %v", rows, err)
	}
	var strict []struct {
		Parent *types.ID `csv:"parent"`
	}
	wantError(t, gocsv.UnmarshalString(written, &strict), "empty: want decimal digits")
	wantError(t, gocsv.UnmarshalString("id\nx\n", &rows), "line 2, column 1", "want decimal digits only")
}

// TestExcelize checks that an ID is a text in a spreadsheet, which keeps only 15 digits of a
// number.
func TestExcelize(t *testing.T) {
	t.Parallel()
	f := excelize.NewFile()
	if err := f.SetSheetRow("Sheet1", "A1", &[]any{sample}); err != nil {
		t.Fatal(err)
	}
	wantText(t, must(f.GetCellValue("Sheet1", "A1"))(t), text)
	if kind := must(f.GetCellType("Sheet1", "A1"))(t); kind != excelize.CellTypeSharedString {
		t.Errorf("the cell has type %v, want a text", kind)
	}
}

// TestAvro checks that an ID can be a long or a string in the schema.
func TestAvro(t *testing.T) {
	t.Parallel()
	type row struct {
		ID types.ID `avro:"id"`
	}
	for _, kind := range []string{"long", "string"} {
		schema := avro.MustParse(`{"type":"record","name":"r","fields":[{"name":"id","type":"` + kind + `"}]}`)
		var back row
		if err := avro.Unmarshal(schema, must(avro.Marshal(schema, row{sample}))(t), &back); err != nil || back.ID != sample {
			t.Errorf("%s: got %v, %v", kind, back, err)
		}
	}
}

// TestFx checks that fx injects an ID by its type.
func TestFx(t *testing.T) {
	t.Parallel()
	var got types.ID
	app := fx.New(fx.NopLogger, fx.Supply(sample), fx.Invoke(func(id types.ID) { got = id }))
	if err := app.Err(); err != nil || got != sample {
		t.Errorf("got %v, %v", got, err)
	}
}
