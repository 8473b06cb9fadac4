package flags

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// TimeForms is the part of the help that lists the forms of [ParseTime].
const TimeForms = `A TIME is one of
  2026-11-21T17:00:00Z              RFC 3339, with any offset and fraction
  2026-11-21 17:00:00, 2026-11-21   in UTC; a date is its first instant
  1795280400, 1795280400000         Unix time: seconds below 100000000000,
                                    milliseconds from there on
  0x1a1ff0cee80                     the same in hex
  now, -1h, +30m, -7d12h            from now: d, h, m, s and ms`

// milliFrom is the smallest number that is a Unix time in milliseconds. As seconds it
// would be in the year 5138; as milliseconds it is in 1973.
const milliFrom = 100_000_000_000

var (
	// layouts8601 are the forms of a date and time. The seconds are optional. The zone
	// follows directly or after a blank, and is UTC if it is missing. A T before the time
	// is replaced by a blank before parsing.
	layouts8601 = []string{
		time.DateOnly, time.DateTime, time.DateTime + "Z07:00", time.DateTime + " Z07:00",
		"2006-01-02 15:04", "2006-01-02 15:04Z07:00", "2006-01-02 15:04 Z07:00",
	}

	// offset matches a sign, days and a duration of package time, such as -7d12h, which are
	// its groups. The days or the duration may be missing. It also matches a sign alone, which
	// shift rejects.
	offset = regexp.MustCompile(`^([+-])(?:([0-9]{1,6})d)?((?:[0-9.]+(?:h|m|s|ms))*)$`)
)

// ParseTime parses a time in any of the forms of [TimeForms]. now is the time from which
// relative times such as -1h are counted.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return now, nil
	}
	at, ok := parseInstant(s)
	if match := offset.FindStringSubmatch(strings.TrimPrefix(s, "now")); match != nil { // such as -1h or now-1h
		at, ok = shift(now, match[1], match[2], match[3])
	}
	if !ok {
		return at, terminal.Usagef("time %q: want a time such as 2026-11-21T17:00:00Z, 2026-11-21, 1795280400, now or -1h", s)
	}
	return at, nil
}

// shift returns now plus or minus the days and the duration, such as "7" and "12h". It
// returns false if both are empty, or if the duration is invalid.
func shift(now time.Time, sign, days, duration string) (time.Time, bool) {
	// The zeros make an empty text valid, and do not change another text.
	n, _ := strconv.Atoi("0" + days)
	d, err := time.ParseDuration(duration + "0s")
	if sign == "-" {
		n, d = -n, -d
	}
	return now.Add(d).UTC().AddDate(0, 0, n), err == nil && days+duration != ""
}

// parseInstant parses an absolute time: a date, or a Unix time in seconds or, from milliFrom on,
// in milliseconds, in decimal or hexadecimal. It returns false for other forms, such as -1h.
func parseInstant(s string) (time.Time, bool) {
	digits, base := s, 10
	if len(s) > 2 && strings.EqualFold(s[:2], "0x") {
		digits, base = s[2:], 16
	}
	switch n, err := strconv.ParseUint(digits, base, 63); { // 63 bits, so that n fits into an int64
	case err == nil && n < milliFrom:
		return time.Unix(int64(n), 0), true
	case err == nil:
		return time.UnixMilli(int64(n)), true
	}
	for _, layout := range layouts8601 {
		if t, err := time.Parse(layout, strings.Replace(s, "T", " ", 1)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
