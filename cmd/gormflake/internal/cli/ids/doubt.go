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

// doubt returns why a text is probably not an ID of the layout although it can be read as one,
// for example because it may be a Unix time. It returns "" if there is no reason for doubt.
func (in *interpreter) doubt(r reading) string {
	now, at := in.now, in.layout.Time(r.id)
	switch unix := unixTime(r.id, now); {
	case r.form.name == serialName, r.form.name == publicName: // no other text has these forms
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

// wordLike matches a text that looks like a word of a language, such as "information". Such a
// text can be an ID in base 58 or base 62.
var wordLike = regexp.MustCompile(`^[A-Za-z][a-z]+$`)

// earlyPeriod is the time after the layout's epoch within which a number is probably not
// an ID. Numbers of credit cards have 16 digits, like the IDs of the default layout in
// its first 28 days.
const earlyPeriod = 30 * 24 * time.Hour

// matureTime returns the time from which decimal numbers count as IDs: earlyPeriod after the
// layout's epoch or, if the epoch is more recent, halfway between the epoch and now.
func matureTime(l snowflake.Layout, now time.Time) time.Time {
	return l.Epoch.Add(min(earlyPeriod, now.Sub(l.Epoch)/2))
}

// unixTime describes the Unix time that a number may be, for example "seconds since 1970:
// 2026-11-21T17:00:00.000Z". It tries seconds to nanoseconds, and returns "" if no unit
// gives a time within ten years of now. Numbers of nanoseconds are as large as IDs, so they count
// only if they end with six zeros, which IDs rarely do.
func unixTime(id types.ID, now time.Time) string {
	unit := time.Second
	for _, name := range []string{"seconds", "milliseconds", "microseconds", "nanoseconds"} {
		perSecond := int64(time.Second / unit)
		at := time.Unix(id.Int64()/perSecond, id.Int64()%perSecond*int64(unit))
		if now.Sub(at).Abs() < 10*365*24*time.Hour && (unit > time.Nanosecond || id%1e6 == 0) {
			return fmt.Sprintf("%s since 1970: %s", name, terminal.Stamp(at))
		}
		unit /= 1000
	}
	return ""
}

// isRounded reports whether JavaScript may have rounded the ID. JavaScript rounds an integer
// above 1<<53 to the nearest float64, and prints zeros in place of its last digits. For
// example, it prints 2124189853926044700 for 2124189853926044565. An ID that was not rounded
// has this form only by chance.
func isRounded(id types.ID) bool {
	// FormatFloat prints a float64 as JavaScript does, with the fewest digits that identify it.
	text := id.String()
	return id > 1<<53 && strings.HasSuffix(text, "00") && strconv.FormatFloat(float64(id), 'f', -1, 64) == text
}
