package terminal

import (
	"fmt"
	"time"
)

// Milliseconds is the format of times.
const Milliseconds = "2006-01-02T15:04:05.000Z07:00"

// Stamp formats a time in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(Milliseconds) }

// Age returns how long at is before now, or how far it is ahead, in the two largest
// units. It uses the calendar of UTC, so that a year ends on the same date.
func Age(at, now time.Time) string {
	if at.After(now) {
		return "in " + calendarSpan(now.UTC(), at.UTC())
	}
	return calendarSpan(at.UTC(), now.UTC()) + " ago"
}

// calendarSpan returns the time from one moment to a later one, in years and months or in
// months and days of the calendar. It returns less than a month as [Span] does.
func calendarSpan(from, to time.Time) string {
	months := (to.Year()-from.Year())*12 + int(to.Month()-from.Month())
	reached := addMonths(from, months)
	if reached.After(to) {
		months--
		reached = addMonths(from, months)
	}
	switch rest := to.Sub(reached); {
	case months >= 12:
		return fmt.Sprintf("%dy %dmo", months/12, months%12)
	case months > 0:
		return fmt.Sprintf("%dmo %dd", months, rest/(24*time.Hour))
	default:
		return Span(rest)
	}
}

// addMonths adds months and keeps the day of the month. If the new month is shorter, it
// returns its last day.
func addMonths(t time.Time, months int) time.Time {
	to := t.AddDate(0, months, 0)
	if to.Day() != t.Day() { // AddDate went into the following month
		to = to.AddDate(0, 0, -to.Day())
	}
	return to
}

// Span returns a duration in its two largest units.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 365*day:
		return fmt.Sprintf("%dy %dd", d/(365*day), d%(365*day)/day)
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}

// Rounded rounds a duration to about three digits.
func Rounded(d time.Duration) time.Duration {
	switch {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// Difference returns how far a clock is ahead of another clock or behind it, in words.
func Difference(ahead time.Duration) string {
	if ahead < 0 {
		return Rounded(-ahead).String() + " behind"
	}
	return Rounded(ahead).String() + " ahead of"
}
