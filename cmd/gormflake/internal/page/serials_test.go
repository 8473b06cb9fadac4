package page_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// serialVector is the serial number of an ID.
type serialVector struct {
	Code      string `json:"code"`
	Separator string `json:"separator"`
	ID        string `json:"id"`
	Text      string `json:"text"`
}

var (
	codes      = []string{"PAY", "R2", "9", "0123456789ABCDEFGHIJKLMNOPQRSTUV", "Z0"}
	separators = []string{"", "-", "_", "."}
)

// newSerials returns the format of serial numbers with the code. An empty separator means
// that the parts are not separated.
func newSerials(t *testing.T, code, separator string, l snowflake.Layout) *serial.Format {
	t.Helper()
	format, err := serial.New(code, l, separatedBy(separator)...)
	if err != nil {
		t.Fatal(err)
	}
	return format
}

// separatedBy returns the option for the separator. The slice is empty for "".
func separatedBy(separator string) []serial.Option {
	if separator == "" {
		return nil
	}
	return []serial.Option{serial.WithSeparator(separator)}
}

// readSerial parses a serial number with an unknown code of up to 32 characters. It tries
// all codes and separators, of which at most one pair fits.
func readSerial(l snowflake.Layout, text string) (serialVector, bool) {
	for n := range min(32, len(text)) {
		for _, separator := range separators {
			format, err := serial.New(text[:n+1], l, separatedBy(separator)...)
			if err != nil {
				break // the code is invalid, with every separator
			}
			if id, err := format.Parse(text); err == nil {
				return serialVector{text[:n+1], separator, id.String(), text}, true
			}
		}
	}
	return serialVector{}, false
}

// serialsOf formats the IDs, and cycles through all codes and separators.
func serialsOf(t *testing.T, l snowflake.Layout, ids []types.ID) []serialVector {
	t.Helper()
	var found []serialVector
	for i, id := range ids {
		code, separator := codes[i%len(codes)], separators[i%len(separators)]
		v := serialVector{code, separator, id.String(), newSerials(t, code, separator, l).Format(id)}
		if got, ok := readSerial(l, v.Text); !ok || got != v {
			t.Fatalf("%v: %q is %+v, %t, want %+v", l, v.Text, got, ok, v)
		}
		found = append(found, v)
	}
	return found
}

// unserialsOf returns serial numbers of values that are not IDs of the layout.
func unserialsOf(t *testing.T, l snowflake.Layout) []serialVector {
	t.Helper()
	ids := []types.ID{0}
	if above := l.Max(l.Expires()) + 1; above > 0 { // not positive if the layout has all 63 bits
		ids = append(ids, above)
	}
	var found []serialVector
	for _, id := range ids {
		found = append(found, serialVector{"PAY", "-", id.String(), newSerials(t, "PAY", "-", l).Format(id)})
	}
	return found
}

// refusedSerials returns serial numbers with many kinds of damage. It leaves out the texts
// that Go accepts nevertheless, for example because the layout has no field where the damage
// is.
func refusedSerials(t *testing.T, l snowflake.Layout) []string {
	t.Helper()
	id := l.Max(l.Expires()) / 3 // in the middle, so that a wrong date is not also beyond the layout's last
	text, dashed := newSerials(t, "PAY", "", l).Format(id), newSerials(t, "PAY", "-", l).Format(id)
	// text has no separators, and dashed has hyphens.
	texts := []string{
		"", "PAY", "PAY!0", text[3:], text[:len(text)-1], text + "0", text + " ", " " + text, text + "\n",
		strings.ToLower(text), "É" + text, "A-" + text, strings.Repeat("A", 30) + text,
		text[:len(text)-1] + "O", text[:len(text)-1] + "٠", text[:3] + "+" + text[4:],
		dashed + "-", strings.Replace(dashed, "-", "_", 1) + "_", strings.ReplaceAll(dashed, "-", "/"), dashed[:3] + dashed[4:],
		"PAY0000" + text[7:], text[:len(text)-1] + "9",
	}
	if at := strings.LastIndex(dashed, "-"); at > 4 {
		texts = append(texts, dashed[:at]+"."+dashed[at+1:])
	}
	day := len("PAY") + yearDigits(l) // the offset of the month and day
	// The months, days and hours do not exist, or are not written in this way. Each rest has
	// 13 digits, from the month to the milliseconds.
	for _, rest := range []string{"0028160740105", "1328160740105", "0600160740105", "0631160740105", "0230160740105", "0628240000000", "0628166000000", "1231235960000"} {
		texts = append(texts, text[:day]+rest+text[day+13:])
	}
	// These times are outside of the layout, at its ends, or between two ticks.
	for _, at := range []time.Time{l.Epoch.Add(-time.Millisecond), l.Epoch, l.Epoch.Add(l.Tick + time.Millisecond), l.Expires()} {
		rest := strings.Replace(at.Format("0102150405.000"), ".", "", 1) + strings.Repeat("0", len(text)-day-13)
		texts = append(texts, fmt.Sprintf("PAY%0*d%s", yearDigits(l), at.Year(), rest))
	}
	texts = slices.DeleteFunc(texts, func(text string) bool {
		_, taken := readSerial(l, text)
		return taken
	})
	if len(texts) < 25 {
		t.Fatalf("%v: only %d refusals", l, len(texts))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// yearDigits returns the number of digits of a year in serial numbers of the layout. Each year
// has as many digits as the last year of the layout.
func yearDigits(l snowflake.Layout) int {
	return max(4, len(fmt.Sprint(lastTick(l).Year())))
}

// randomSerial formats the ID with a code and a separator at random.
func randomSerial(random *rand.Rand, t *testing.T, l snowflake.Layout, id types.ID) string {
	t.Helper()
	code, separator := codes[random.IntN(len(codes))], separators[random.IntN(len(separators))]
	return newSerials(t, code, separator, l).Format(id)
}

// damaged returns the text with the character at a random place replaced by a random
// character. The new character may equal the old character.
func damaged(random *rand.Rand, text string) string {
	const characters = "0123456789AZaz-_.!"
	at := random.IntN(len(text))
	return text[:at] + string(characters[random.IntN(len(characters))]) + text[at+1:]
}
