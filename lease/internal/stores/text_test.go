package stores_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// FormatRecord writes a record as bound|owner. ParseRecord must return an error for texts of
// other forms, also for other texts of the same number, such as +1 and 01.
func TestRecordText(t *testing.T) {
	t.Parallel()
	// This form must not change, because processes of other versions of the library read
	// it.
	for text, want := range map[string]lease.Record{
		"1763733600000|web-1/42/XYZ": {Bound: 1763733600000, Owner: "web-1/42/XYZ"},
		"0|":                         {},
		"-1|a|b":                     {Bound: -1, Owner: "a|b"},
	} {
		if got := stores.FormatRecord(want); got != text {
			t.Errorf("%+v is %q, want %q", want, got, text)
		}
	}
	for _, text := range []string{"", "1", "|a", "a|b", "+1|a", "01|a", " 1|a", "9223372036854775808|a"} {
		if r, err := stores.ParseRecord(text); err == nil || !strings.Contains(err.Error(), "want bound|owner") {
			t.Errorf("ParseRecord(%q) = %+v, %v, want an error", text, r, err)
		}
	}
}

// If ParseRecord accepts a text, FormatRecord must return the same text for the record. So no
// record has two texts.
func FuzzParseRecord(f *testing.F) {
	f.Add("1763733600000|web-1/42/XYZ")
	f.Add("0|")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := stores.ParseRecord(text); err == nil && stores.FormatRecord(r) != text {
			t.Errorf("%q is read as %+v, which is %q", text, r, stores.FormatRecord(r))
		}
	})
}
