package ids_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/snowflake"
)

// min and max accept every form of a time, and print the first and the last ID of its tick.
// A time after the end of the layout is a usage error.
func TestMinMax(t *testing.T) {
	t.Parallel()
	layout := snowflake.TwitterLayout()
	date := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct {
		text string
		want time.Time
	}{
		{"2026-11-21T17:00:00Z", date("2026-11-21T17:00:00Z")},
		{"2026-11-21T17:00:00.123+02:00", date("2026-11-21T15:00:00.123Z")},
		{"2026-11-21 17:00:00", date("2026-11-21T17:00:00Z")},
		{"2026-11-21 17:00:00.5", date("2026-11-21T17:00:00.5Z")},
		{"2026-11-21 17:00:00-05:00", date("2026-11-21T22:00:00Z")},
		{"2026-11-21 17:00:00 +01:00", date("2026-11-21T16:00:00Z")},
		{"2026-11-21T17:00:00", date("2026-11-21T17:00:00Z")},
		{"2026-11-21 17:00", date("2026-11-21T17:00:00Z")},
		{"2026-11-21", date("2026-11-21T00:00:00Z")},
		{"1795280400", time.Unix(1795280400, 0)},
		{"99999999999999", time.UnixMilli(99999999999999)},
		{"1795280400123", time.UnixMilli(1795280400123)},
		{"0x1a1ff0cee80", date("2026-11-21T17:00:00Z")},
		{"2026-11-21T17:00Z", date("2026-11-21T17:00:00Z")},
		{"now", clitest.Noon},
		{"-1h", clitest.Noon.Add(-time.Hour)},
		{"+1h30m", clitest.Noon.Add(90 * time.Minute)},
		{"-250ms", clitest.Noon.Add(-250 * time.Millisecond)},
		{"-1.5h", clitest.Noon.Add(-90 * time.Minute)},
		{"-7d", clitest.Noon.AddDate(0, 0, -7)},
		{"-7d12h", clitest.Noon.AddDate(0, 0, -7).Add(-12 * time.Hour)},
		{"now-1h", clitest.Noon.Add(-time.Hour)},
	} {
		if test.want.After(layout.Expires()) {
			clitest.WantUsage(t, clitest.AtNoon(nil, "min", test.text), "is outside the layout: want one from 2010-11-04T01:42:54.657Z to before 2080-07-10T17:30:30.209Z")
			continue
		}
		if got := clitest.Printed(t, clitest.AtNoon(nil, "min", test.text)); got != layout.Min(test.want).String()+"\n" {
			t.Errorf("min %s = %s, want the ID of %v", test.text, got, test.want)
		}
		if got := clitest.Printed(t, clitest.AtNoon(nil, "max", test.text)); got != layout.Max(test.want).String()+"\n" {
			t.Errorf("max %s = %s, want the ID of %v", test.text, got, test.want)
		}
	}
}

// --epoch accepts every form of a time that does not depend on the present time, such as a
// date. Among them are milliseconds, in which most epochs are published.
func TestEpochForms(t *testing.T) {
	t.Parallel()
	for _, epoch := range []string{"2015-01-01T00:00:00Z", "2015-01-01", "1420070400", "1420070400000", "0x14aa2cab000", "2015-01-01 02:00 +02:00"} {
		got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "175928847299117063", "--epoch", epoch))
		if !strings.Contains(got, "2016-04-30T11:18:25.796Z") {
			t.Errorf("--epoch %s: %s", epoch, got)
		}
	}
	for _, epoch := range []string{"now", "-1h", "0x", "tomorrow"} {
		clitest.WantUsage(t, clitest.AtNoon(nil, "parse", "1", "--epoch="+epoch), "want a time such as 2020-01-01T00:00:00Z, 2020-01-01, 1577836800000")
	}
}

// The age of an ID counts years, months and days of the calendar in UTC. So an ID is a year
// old on the same date of the next year.
func TestAgesGoByTheCalendar(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"2026-11-21T11:59:57.5Z": "2.5s ago",
		"2025-11-21T12:00:00Z":   "1y 0mo ago",
		"2025-11-21T12:00:01Z":   "11mo 30d ago",
		"2016-04-30T11:18:25Z":   "10y 6mo ago",
		"2026-10-31T12:00:00Z":   "21d 0h ago",
		"2027-11-21T12:00:00Z":   "in 1y 0mo",
	} {
		id := strings.TrimSpace(clitest.Printed(t, clitest.AtNoon(nil, "min", at)))
		if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", id)); !strings.Contains(got, "age         "+want+"\n") {
			t.Errorf("%s: want %s in\n%s", at, want, got)
		}
	}
}

// The IDs that min and max print for a time must not change, because scripts may have
// stored them.
func TestMinMaxGolden(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"min 2026-01-01":                  "2006515713438646272",
		"max 2026-01-01":                  "2006515713442840575",
		"min 2026-01-01 --layout js-safe": "310294609920000",
		"min -1h --layout discord":        "1573654206873600000",
	} {
		if got := clitest.Printed(t, clitest.AtNoon(nil, strings.Fields(args)...)); got != want+"\n" {
			t.Errorf("%s = %s, want %s", args, got, want)
		}
	}
}

// A text that is not a time, and a time outside the layout, are usage errors.
func TestTimeMistakes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "yesterday", "2026-13-01", "2026-11-21T25:00:00Z", "-1", "-1y", "--", "+", "-", "-d", "now-", "-h", "-1h-1h",
		"-99999999999999999h", "1795280400.5", "9223372036854775808", "\x1b[31m", "２０２６", "-7 d",
	} {
		got := clitest.AtNoon(nil, "min", "--", text)
		if text == "" || text[0] != '-' {
			got = clitest.AtNoon(nil, "min", text)
		}
		clitest.WantUsage(t, got, "")
	}
	for _, text := range []string{"2010-11-04T01:42:54.656Z", "2080-07-10T17:30:30.209Z", "1969-01-01", "-99999d", "+999999d", "9223372036854775807", "0"} {
		clitest.WantUsage(t, clitest.AtNoon(nil, "max", text), "is outside the layout: want one from 2010-11-04T01:42:54.657Z to before 2080-07-10T17:30:30.209Z")
	}
}
