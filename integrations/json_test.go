package integrations_test

import (
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"
	jsoniter "github.com/json-iterator/go"

	"github.com/gormflake/gormflake/types"
)

// orderJSON is the order with a parent, and mapJSON is a map from its key to its parent.
const (
	orderJSON = `{"id":"7529595880471527425","parent":"7529595880471527424"}`
	mapJSON   = `{"7529595880471527425":"7529595880471527424"}`
)

// checkJSON checks values, map keys, numbers of other clients, and rejected values.
func checkJSON(t *testing.T, c codec) {
	t.Helper()
	wantText(t, c.roundTrips(t), orderJSON)
	byID := map[types.ID]types.ID{sample: sample - 1}
	wantText(t, string(must(c.marshal(byID))(t)), mapJSON)
	var back map[types.ID]types.ID
	if err := c.unmarshal([]byte(mapJSON), &back); err != nil || back[sample] != sample-1 {
		t.Errorf("%s is read as %v, %v", mapJSON, back, err)
	}
	for in, want := range map[string]order{
		`{"id":7529595880471527425}`:         {ID: sample},
		`{}`:                                 {},
		`{"id":null,"parent":null}`:          {},
		`{"id":"7529595880471527425","x":1}`: {ID: sample},
	} {
		var got order
		if err := c.unmarshal([]byte(in), &got); err != nil || !got.equal(want) {
			t.Errorf("%s is read as %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{`{"id":""}`, `{"id":"x"}`, `{"id":-1}`, `{"id":1.5}`, `{"id":1e3}`, `{"id":"9223372036854775808"}`, `{"parent":""}`} {
		var got order
		if err := c.unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is read as %+v; want an error", in, got)
		}
	}
}

// encoding/json reads and writes IDs as texts.
func TestEncodingJSON(t *testing.T) {
	t.Parallel()
	checkJSON(t, codec{json.Marshal, json.Unmarshal})
}

// sonic reads and writes IDs as encoding/json does.
func TestSonic(t *testing.T) {
	t.Parallel()
	checkJSON(t, codec{sonic.Marshal, sonic.Unmarshal})
}

// goccy/go-json reads and writes IDs as encoding/json does.
func TestGoccyJSON(t *testing.T) {
	t.Parallel()
	checkJSON(t, codec{goccy.Marshal, goccy.Unmarshal})
}

// json-iterator reads and writes IDs as encoding/json does, in its compatible
// configuration.
func TestJSONIterator(t *testing.T) {
	t.Parallel()
	api := jsoniter.ConfigCompatibleWithStandardLibrary
	checkJSON(t, codec{api.Marshal, api.Unmarshal})
}

// TestOptional checks two types for a key that may be absent. A nil *types.ID is null in
// JSON. A sql.Null[types.ID] distinguishes NULL in the database from a key, but is an object
// in JSON.
func TestOptional(t *testing.T) {
	t.Parallel()
	type filter struct {
		After  *types.ID          `json:"after"`
		Before sql.Null[types.ID] `json:"before"`
	}
	wantText(t, string(must(json.Marshal(filter{}))(t)), `{"after":null,"before":{"V":"0","Valid":false}}`)
	var f filter
	if err := f.Before.Scan(nil); err != nil || f.Before.Valid {
		t.Errorf("NULL is read as %v, %v", f.Before, err)
	}
	if err := f.Before.Scan(sample.Int64()); err != nil || !f.Before.Valid || f.Before.V != sample {
		t.Errorf("%d is read as %v, %v", sample, f.Before, err)
	}
}
