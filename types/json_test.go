package types_test

import (
	"encoding/json"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// document holds an ID in every place in which JSON can have one.
type document struct {
	Value   types.ID            `json:"value"`
	Pointer *types.ID           `json:"pointer"`
	Nil     *types.ID           `json:"nil"`
	Any     any                 `json:"any"`
	Quoted  types.ID            `json:"quoted,string"`
	Zero    types.ID            `json:"zero"`
	Omitted types.ID            `json:"omitted,omitzero"`
	List    []types.ID          `json:"list"`
	Key     map[types.ID]string `json:"key"`
}

const documentJSON = `{"value":"7529595880471527425","pointer":"7529595880471527425","nil":null,` +
	`"any":"7529595880471527425","quoted":"7529595880471527425","zero":"0",` +
	`"list":["1","7529595880471527425"],"key":{"7529595880471527425":"x"}}`

// newDocument returns the document of documentJSON.
func newDocument() document {
	id := sample
	return document{
		Value: sample, Pointer: &id, Any: sample, Quoted: sample,
		List: []types.ID{1, sample}, Key: map[types.ID]string{sample: "x"},
	}
}

// checkDocument checks a document that was read from documentJSON. In the field of type any
// the ID has become a string.
func checkDocument(t *testing.T, got document) {
	t.Helper()
	ok := got.Value == sample && got.Pointer != nil && *got.Pointer == sample && got.Nil == nil &&
		got.Any == sample.String() && got.Quoted == sample && got.Zero == 0 && got.Omitted == 0 &&
		len(got.List) == 2 && got.List[0] == 1 && got.List[1] == sample && got.Key[sample] == "x"
	if !ok {
		t.Errorf("got %+v", got)
	}
}

// An ID is a string in every place in which JSON can have it, and is read again.
func TestJSONDocument(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(newDocument())
	if err != nil || string(text) != documentJSON {
		t.Errorf("got  %s, %v\nwant %s", text, err, documentJSON)
	}
	var back document
	if err := json.Unmarshal([]byte(documentJSON), &back); err != nil {
		t.Fatal(err)
	}
	checkDocument(t, back)
}

// TestNoMarshalJSON checks that an ID has no method MarshalJSON. With one, encoding/json
// would check and copy the text of each ID; MarshalText is sufficient.
func TestNoMarshalJSON(t *testing.T) {
	t.Parallel()
	if _, ok := any(sample).(json.Marshaler); ok {
		t.Error("ID has a MarshalJSON, which encoding/json scans again")
	}
}

func TestUnmarshalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]types.ID{
		`"7529595880471527425"`: sample,
		`7529595880471527425`:   sample,
		`"9223372036854775807"`: 1<<63 - 1,
		`9223372036854775807`:   1<<63 - 1,
		`"0"`:                   0,
		`0`:                     0,
		" \t\n\"42\" ":          42, // encoding/json removes the blanks
	} {
		id := types.ID(-1)
		if err := json.Unmarshal([]byte(in), &id); err != nil || id != want {
			t.Errorf("%s: got %d, %v; want %d", in, int64(id), err, int64(want))
		}
	}
}

// As encoding/json requires, null changes nothing.
func TestUnmarshalJSONNull(t *testing.T) {
	t.Parallel()
	v := struct{ ID, Fresh types.ID }{ID: sample}
	if err := json.Unmarshal([]byte(`{"ID":null,"Fresh":null}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.ID != sample || v.Fresh != 0 {
		t.Errorf("null changed something: %+v", v)
	}
}

// A JSON value that is not exactly one ID is an error, and sets the ID to zero.
func TestUnmarshalJSONErrors(t *testing.T) {
	t.Parallel()
	const digitsOnly = ": want decimal digits only"
	const overflow = "out of range: want at most 9223372036854775807"
	for _, test := range []struct{ in, want string }{
		{`""`, `(""): empty: want decimal digits`},
		{`"-5"`, `("-5"): unexpected '-' at offset 0` + digitsOnly},
		{`-5`, `("-5"): unexpected '-' at offset 0` + digitsOnly},
		{`-0`, `("-0"): unexpected '-' at offset 0` + digitsOnly},
		{`"+5"`, `("+5"): unexpected '+' at offset 0` + digitsOnly},
		{`1.0`, `("1.0"): unexpected '.' at offset 1` + digitsOnly},
		{`1e3`, `("1e3"): unexpected 'e' at offset 1` + digitsOnly},
		{`1E3`, `("1E3"): unexpected 'E' at offset 1` + digitsOnly},
		{`"1e3"`, `("1e3"): unexpected 'e' at offset 1` + digitsOnly},
		{`" 5"`, `(" 5"): unexpected ' ' at offset 0` + digitsOnly},
		{`"5 "`, `("5 "): unexpected ' ' at offset 1` + digitsOnly},
		{`"x5"`, `("x5"): unexpected 'x' at offset 0` + digitsOnly},
		{`"042"`, `("042"): leading zero: want the shortest form`},
		{`"null"`, `("null"): unexpected 'n' at offset 0` + digitsOnly},
		{`"\u0034"`, `("\\u0034"): unexpected '\\' at offset 0` + digitsOnly},
		{`true`, `("true"): unexpected 't' at offset 0` + digitsOnly},
		{`{}`, `("{}"): unexpected '{' at offset 0` + digitsOnly},
		{`["5"]`, `("[\"5\"]"): unexpected '[' at offset 0` + digitsOnly},
		{`9223372036854775808`, `("9223372036854775808"): ` + overflow},
		{`"9223372036854775808"`, `("9223372036854775808"): ` + overflow},
		{`18446744073709551658`, `("18446744073709551658"): ` + overflow},
		{`"18446744073709551658"`, `("18446744073709551658"): ` + overflow},
	} {
		id := sample
		err := json.Unmarshal([]byte(test.in), &id)
		checkError(t, id, err, "types: ID.UnmarshalJSON"+test.want)
	}
}

// A malformed JSON text is an error. encoding/json never passes such a text to
// UnmarshalJSON, but other callers may.
func TestUnmarshalJSONMalformed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `"`, `"5`, `5"`, ` 5`, `"5" `, `nul`, `007`, `"5""`} {
		id := sample
		if err := id.UnmarshalJSON([]byte(in)); err == nil || id != 0 {
			t.Errorf("%s: got %d, %v; want an error", in, int64(id), err)
		}
	}
}

// A key of a JSON object is read as strictly as any other text, because two keys must not
// be one ID.
func TestJSONMapKeyIsStrict(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"":1}`, `{"-5":1}`, `{"042":1}`, `{" 5":1}`, `{"9223372036854775808":1}`} {
		var m map[types.ID]int
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("%s: got %v, want an error", in, m)
		}
	}
}

// A negative ID is written, because one old row must not make a whole page unreadable.
// No parser reads it.
func TestJSONOfNegativeID(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(types.ID(-5))
	if err != nil || string(text) != `"-5"` {
		t.Errorf(`got %s, %v; want "-5"`, text, err)
	}
}
