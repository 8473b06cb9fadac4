//go:build go1.27

package types_test

import (
	jsonv2 "encoding/json/v2"
	"testing"

	"github.com/gormflake/gormflake/types"
)

func TestJSONv2Document(t *testing.T) {
	t.Parallel()
	text, err := jsonv2.Marshal(newDocument())
	if err != nil || string(text) != documentJSON {
		t.Errorf("got  %s, %v\nwant %s", text, err, documentJSON)
	}
	var back document
	if err := jsonv2.Unmarshal([]byte(documentJSON), &back); err != nil {
		t.Fatal(err)
	}
	checkDocument(t, back)
}

func TestJSONv2Unmarshal(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`7529595880471527425`, `"7529595880471527425"`} {
		var id types.ID
		if err := jsonv2.Unmarshal([]byte(in), &id); err != nil || id != sample {
			t.Errorf("%s: got %d, %v", in, int64(id), err)
		}
	}
	for _, in := range []string{`""`, `"-5"`, `-5`, `1.0`, `1e3`, `true`, `"042"`, `9223372036854775808`} {
		id := sample
		if err := jsonv2.Unmarshal([]byte(in), &id); err == nil || id != 0 {
			t.Errorf("%s: got %d, %v; want an error", in, int64(id), err)
		}
	}
}
