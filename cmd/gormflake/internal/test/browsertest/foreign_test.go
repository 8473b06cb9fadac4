package browsertest

import (
	"testing"

	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

// For an ID of another kind, such as a UUID, the page names the kind and its time, in every
// layout. It must not show a Snowflake ID, although a part of the text could be read as one.
// If the reader has chosen a form, the page says instead why the text does not have this form.
func TestIDsOfOtherKinds(t *testing.T) {
	t.Parallel()
	codec, err := publicid.New([]byte("a secret of 32 bytes for one test"[:32]))
	if err != nil {
		t.Fatal(err)
	}
	orders, err := publicid.For[types.ID](codec, "ord")
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t), "/")
	for _, layout := range []string{"twitter", "js-safe"} {
		p.enter("#layout", layout)
		for text, want := range map[string]string{
			"550e8400-e29b-41d4-a716-446655440000":   "is a UUID of version 4, not a Snowflake ID; it holds no time",
			"017f22e2-79b0-7cc3-98c4-dc0c0c07398f":   "is a UUID of version 7, not a Snowflake ID; it holds the time 2022-02-22T19:22:22.000Z",
			"01ARZ3NDEKTSV4RRFFQ69G5FAV":             "is a ULID, not a Snowflake ID; it holds the time 2016-07-30T23:54:10.259Z",
			"0ujtsYcgvSTl8PAuAdqWYSMnLOv":            "is a KSUID, not a Snowflake ID; it holds the time 2017-10-10T04:00:47.000Z",
			"user_01h455vb4pex5vsknk084sn02q":        "is a TypeID of the type user, not a Snowflake ID; it holds the time 2023-06-30T03:34:18.518Z",
			orders.Format(2_124_189_853_926_044_565): "is a public ID",
		} {
			p.enter("#input", text)
			p.wantContains("#input-error", want)
			if !value[bool](p, `document.getElementById("result").hidden`) {
				t.Errorf("%s: an ID is shown in %s", text, layout)
			}
		}
	}
	p.enter("#form", "serial")
	p.enter("#input", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	p.wantContains("#input-error", "has another shape")
}
