package ids

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// doubt returns why a reading is probably not an ID of the layout, or "".
func (in *interpreter) doubt(r reading) string {
	now, at := in.now, in.layout.Time(r.id)
	switch unix := unixTime(r.id, now); {
	case r.form.name == serialName, r.form.name == publicName: // nothing else has these forms
		return ""
	case wordLike.MatchString(r.text):
		return "it looks like a word"
	case unix != "":
		return "it may be " + unix
	case isRounded(r.id):
		return "it ends with 00 as digits that JavaScript has rounded do"
	case at.After(now.Add(24 * time.Hour)):
		return "it is of the future, or of another --layout"
	case at.Before(matureTime(in.layout, now)):
		return "it is of the layout's first 30 days: is it a number of something else, or of another --layout?"
	}
	return ""
}

// wordLike matches a text that looks like a word of a language. Such a text can be valid in
// base 58 or base 62.
var wordLike = regexp.MustCompile(`^[A-Za-z][a-z]+$`)

// earlyPeriod is the time after the layout's epoch within which a number is probably not
// an ID. Numbers of credit cards have 16 digits, like the IDs of the default layout in
// its first 28 days.
const earlyPeriod = 30 * 24 * time.Hour

// matureTime returns the time from which decimal numbers count as IDs. For a young layout
// it is halfway between its epoch and now.
func matureTime(l snowflake.Layout, now time.Time) time.Time {
	return l.Epoch.Add(min(earlyPeriod, now.Sub(l.Epoch)/2))
}

// unixTime returns the Unix time that a number may be, if it is within ten years of now,
// or "". Nanoseconds can be as large as IDs; they count only if they end with six zeros,
// which IDs rarely do.
func unixTime(id types.ID, now time.Time) string {
	unit := time.Second
	for _, name := range []string{"seconds", "milliseconds", "microseconds", "nanoseconds"} {
		per := int64(time.Second / unit) // units in a second
		at := time.Unix(id.Int64()/per, id.Int64()%per*int64(unit))
		if now.Sub(at).Abs() < 10*365*24*time.Hour && (unit > 1 || id%1e6 == 0) {
			return fmt.Sprintf("%s since 1970: %s", name, terminal.Stamp(at))
		}
		unit /= 1000
	}
	return ""
}

// isRounded reports whether JavaScript may have rounded the ID. A JavaScript number above
// 1<<53 is rounded, and prints zeros in place of the last digits. The ID of a generator
// ends with 00 and survives the conversion to such a number only by chance.
func isRounded(id types.ID) bool {
	text := id.String()
	return id > 1<<53 && strings.HasSuffix(text, "00") && strconv.FormatFloat(float64(id), 'f', -1, 64) == text
}
