package flags_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// An ID of another library has the parts that the library gives it. The IDs of Instagram
// and TSID, and their parts, come from published articles.
func TestForeignLayouts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		layout  string
		id      types.ID
		want    snowflake.Parts
		expires string
	}{
		{"instagram", 11637205501278089, snowflake.Parts{Time: date(t, "2011-09-09T22:28:04.721Z"), Worker: 1341, Sequence: 905}, "2046-06-27T17:00:49.497Z"},
		{"leaf", 2124189853926044565, snowflake.Parts{Time: date(t, "2026-11-21T17:15:01.372Z"), Worker: 3, Sequence: 917}, "2080-07-10T17:30:30.209Z"},
		{"tsid", 388400145978465528, snowflake.Parts{Time: date(t, "2022-12-07T18:43:30.927Z"), Worker: 25, Sequence: 3320}, "2089-09-06T15:47:35.552Z"},
		{"yitter", 873037816312137, snowflake.Parts{Time: date(t, "2026-11-21T17:00:00.123Z"), Worker: 5, Sequence: 9}, "2312-05-31T18:07:18.854Z"},
	} {
		t.Run(test.layout, func(t *testing.T) {
			t.Parallel()
			layout := flags.Layouts()[test.layout]
			if err := layout.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := layout.Decompose(test.id); got != test.want {
				t.Errorf("parts of %d: got %+v, want %+v", test.id, got, test.want)
			}
			if got := layout.Expires().Format(time.RFC3339Nano); got != test.expires {
				t.Errorf("expires %s, want %s", got, test.expires)
			}
		})
	}
}

// date parses a time in the form of RFC 3339.
func date(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
