package integrations_test

import (
	"bytes"
	"encoding/gob"
	"encoding/xml"
	"strings"
	"testing"

	burntsushi "github.com/BurntSushi/toml"
	"github.com/fxamacker/cbor/v2"
	goccy "github.com/goccy/go-yaml"
	pelletier "github.com/pelletier/go-toml/v2"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	yamlv3 "gopkg.in/yaml.v3"

	"github.com/gormflake/gormflake/types"
)

// TestXML checks that IDs are texts in XML, as attributes and as elements.
func TestXML(t *testing.T) {
	t.Parallel()
	got := codec{xml.Marshal, xml.Unmarshal}.roundTrips(t)
	wantText(t, got, `<order id="7529595880471527425"><parent>7529595880471527424</parent></order>`)
}

// orderYAML is the order of newOrder in YAML.
const orderYAML = "id: \"7529595880471527425\"\nparent: \"7529595880471527424\"\n"

// TestYAMLv3 checks that IDs are texts in YAML, and that a number is read too.
func TestYAMLv3(t *testing.T) {
	t.Parallel()
	wantText(t, codec{yamlv3.Marshal, yamlv3.Unmarshal}.roundTrips(t), orderYAML)
	readsNumber(t, yamlv3.Unmarshal, "id: 7529595880471527425")
}

// TestGoccyYAML checks that IDs are texts in YAML, and that a number is read too. A number
// with a leading zero is read as octal.
func TestGoccyYAML(t *testing.T) {
	t.Parallel()
	wantText(t, codec{goccy.Marshal, goccy.Unmarshal}.roundTrips(t), orderYAML)
	readsNumber(t, goccy.Unmarshal, "id: 7529595880471527425")
	var got order
	if err := goccy.Unmarshal([]byte("id: 010"), &got); err != nil || got.ID != 8 {
		t.Errorf("010 is read as %v, %v; the page says as 8", got.ID, err)
	}
}

// readsNumber checks that unmarshal accepts a number without quotes, as people write it.
func readsNumber(t *testing.T, unmarshal func([]byte, any) error, in string) {
	t.Helper()
	var got order
	if err := unmarshal([]byte(in), &got); err != nil || got.ID != sample {
		t.Errorf("%s is read as %v, %v; want %d", in, got, err, sample)
	}
}

// orderTOML is the order of newOrder in TOML.
const orderTOML = "id = \"7529595880471527425\"\nparent = \"7529595880471527424\"\n"

// TestBurntSushiTOML checks that IDs are texts in TOML, and that a number is read too. A map
// whose keys are IDs cannot be written.
func TestBurntSushiTOML(t *testing.T) {
	t.Parallel()
	wantText(t, codec{burntsushi.Marshal, burntsushi.Unmarshal}.roundTrips(t), orderTOML)
	readsNumber(t, burntsushi.Unmarshal, "id = 7529595880471527425")
	if got, err := burntsushi.Marshal(map[types.ID]string{sample: "a"}); err == nil {
		t.Errorf("a map is written as %s; the page says that it is an error", got)
	}
}

// TestPelletierTOML checks that IDs are texts in TOML, and that a number is read too. The
// library quotes texts by apostrophes.
func TestPelletierTOML(t *testing.T) {
	t.Parallel()
	got := codec{pelletier.Marshal, pelletier.Unmarshal}.roundTrips(t)
	wantText(t, strings.ReplaceAll(got, "'", `"`), orderTOML)
	readsNumber(t, pelletier.Unmarshal, "id = 7529595880471527425")
}

// TestMsgpack checks that IDs and absent IDs survive MessagePack.
func TestMsgpack(t *testing.T) {
	t.Parallel()
	codec{msgpack.Marshal, msgpack.Unmarshal}.roundTrips(t)
}

// TestCBOR checks that IDs and absent IDs survive CBOR, and that an integer is read too.
func TestCBOR(t *testing.T) {
	t.Parallel()
	codec{cbor.Marshal, cbor.Unmarshal}.roundTrips(t)
	readsNumber(t, cbor.Unmarshal, string(must(cbor.Marshal(map[string]int64{"id": sample.Int64()}))(t)))
}

// TestGob checks that gob keeps IDs. A field that was an int64 cannot be read as an ID.
func TestGob(t *testing.T) {
	t.Parallel()
	codec{func(v any) ([]byte, error) {
		var b bytes.Buffer
		err := gob.NewEncoder(&b).Encode(v)
		return b.Bytes(), err
	}, func(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }}.roundTrips(t)

	type number struct{ ID int64 }
	type order struct{ ID types.ID }
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(number{sample.Int64()}); err != nil {
		t.Fatal(err)
	}
	wantError(t, gob.NewDecoder(&b).Decode(new(order)), "wrong type")
}

// TestBSON checks that an ID is a 64-bit integer in BSON, also as _id.
func TestBSON(t *testing.T) {
	t.Parallel()
	got := codec{bson.Marshal, bson.Unmarshal}.roundTrips(t)
	if value := bson.Raw(got).Lookup("_id"); value.Type != bson.TypeInt64 || value.Int64() != sample.Int64() {
		t.Errorf("_id is %v", value)
	}
	byID := map[types.ID]string{sample: "a"}
	wantText(t, bson.Raw(must(bson.Marshal(byID))(t)).String(), `{"`+text+`": "a"}`)
}
