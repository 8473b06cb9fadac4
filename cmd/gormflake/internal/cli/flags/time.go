package flags

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// TimeForms is the help of what [ParseTime] reads.
const TimeForms = `A TIME is one of
  2026-11-21T17:00:00Z              RFC 3339, with any offset and fraction
  2026-11-21 17:00:00, 2026-11-21   in UTC; a date is its first instant
  1795280400, 1795280400000         Unix time: seconds below 100000000000,
                                    milliseconds from there on
  now, -1h, +30m, -7d12h            from now: d, h, m, s and ms`

const wantTime = "want a time such as 2026-11-21T17:00:00Z, 2026-11-21, 1795280400, now or -1h"

// milliFrom is where a number is no longer taken for seconds: in the year 5138,
// and in 1973 as milliseconds.
const milliFrom = 100_000_000_000

var (
	layouts8601 = []string{
		time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00",
		"2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly,
	}
	offset = regexp.MustCompile(`^([+-])(?:([0-9]{1,6})d)?((?:[0-9.]+(?:h|m|s|ms))*)$`)
)

// ParseTime reads a time as people write it.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return now, nil
	}
	if sign := strings.TrimPrefix(s, "now"); strings.HasPrefix(sign, "-") || strings.HasPrefix(sign, "+") {
		return shifted(s, sign, now)
	}
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		if n < milliFrom {
			return time.Unix(int64(n), 0), nil
		}
		return time.UnixMilli(int64(n)), nil
	}
	for _, layout := range layouts8601 {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, terminal.Usage(fmt.Errorf("time %q: %s", s, wantTime))
}

func shifted(s, signed string, now time.Time) (time.Time, error) {
	match := offset.FindStringSubmatch(signed)
	if match == nil || match[2] == "" && match[3] == "" {
		return time.Time{}, terminal.Usage(fmt.Errorf("time %q: %s", s, wantTime))
	}
	d, err := time.ParseDuration(match[3] + "0s")
	days, _ := strconv.Atoi("0" + match[2])
	if err != nil {
		return time.Time{}, terminal.Usage(fmt.Errorf("time %q: %s", s, wantTime))
	}
	if match[1] == "-" {
		d, days = -d, -days
	}
	return now.Add(d).UTC().AddDate(0, 0, days), nil
}
