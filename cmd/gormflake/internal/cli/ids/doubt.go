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

// early is for how long after the layout's epoch a number is hardly an ID: those of
// cards have 16 digits, which the default layout gives for 28 days.
const early = 30 * 24 * time.Hour

// matured is when numbers are IDs: for a young layout, halfway between its epoch and now.
func matured(l snowflake.Layout, now time.Time) time.Time {
	return l.Epoch.Add(min(early, now.Sub(l.Epoch)/2))
}

// word is what a person would write.
var word = regexp.MustCompile(`^[A-Za-z][a-z]+$`)

// doubt says why what was read is hardly an ID of the layout; empty where it may be one.
func (in *interpreter) doubt(r reading, now time.Time) string {
	at := in.layout.Time(r.id)
	switch unix := unixTime(r.id, now); {
	case r.form.name == serialName, r.form.name == publicName:
		return ""
	case word.MatchString(r.text):
		return "it looks like a word"
	case unix != "":
		return "it may be " + unix
	case isRounded(r.id):
		return "it ends with 00 as digits that JavaScript has rounded do"
	case at.After(now.Add(24 * time.Hour)):
		return "it is of the future, or of another --layout"
	case at.Before(matured(in.layout, now)):
		return "it is of the layout's first 30 days: is it a number of something else, or of another --layout?"
	}
	return ""
}

// unixTime is the time since 1970 that a number may stand for, within ten years. IDs
// may be as large as nanoseconds, but do not end with six zeros.
func unixTime(id types.ID, now time.Time) string {
	unit := time.Second
	for _, name := range []string{"seconds", "milliseconds", "microseconds", "nanoseconds"} {
		per := int64(time.Second / unit)
		at := time.Unix(id.Int64()/per, id.Int64()%per*int64(unit))
		if now.Sub(at).Abs() < 10*365*24*time.Hour && (unit > 1 || id%1e6 == 0) {
			return fmt.Sprintf("%s since 1970: %s", name, terminal.Stamp(at))
		}
		unit /= 1000
	}
	return ""
}

// isRounded reports whether the digits are those that a JavaScript number prints.
func isRounded(id types.ID) bool {
	text := id.String()
	return id > 1<<53 && strings.HasSuffix(text, "00") && strconv.FormatFloat(float64(id), 'f', -1, 64) == text
}
