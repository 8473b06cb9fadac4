package terminal

import (
	"fmt"
	"time"
)

// Milliseconds is the layout of times for package time: RFC 3339 with milliseconds.
const Milliseconds = "2006-01-02T15:04:05.000Z07:00"

// Stamp formats a time in UTC, for example 2026-11-21T17:15:01.372Z.
func Stamp(t time.Time) string { return t.UTC().Format(Milliseconds) }

// Age returns how long at is before now, or how far it is ahead, in the two largest units,
// for example "2mo 5d ago" or "in 3m 20s", or below a minute in seconds. It counts months by the calendar in UTC, so that
// a year ends on the same date.
func Age(at, now time.Time) string {
	if at.After(now) {
		return "in " + calendarSpan(now.UTC(), at.UTC())
	}
	return calendarSpan(at.UTC(), now.UTC()) + " ago"
}

// calendarSpan returns the time from one moment to a later moment in years and months, for
// example "2y 3mo", or in months and days. It returns less than a month as [Span] does.
func calendarSpan(from, to time.Time) string {
	months := (to.Year()-from.Year())*12 + int(to.Month()-from.Month())
	monthsLater := addMonths(from, months)
	if monthsLater.After(to) { // the last month is not complete, as from January 31 to February 1
		months--
		monthsLater = addMonths(from, months)
	}
	switch rest := to.Sub(monthsLater); {
	case months >= 12:
		return fmt.Sprintf("%dy %dmo", months/12, months%12)
	case months > 0:
		return fmt.Sprintf("%dmo %dd", months, rest/(24*time.Hour))
	default:
		return Span(rest)
	}
}

// addMonths adds months to t, and keeps the day of the month. If the new month is too short,
// it returns its last day, for example February 28 for a month after January 31.
func addMonths(t time.Time, months int) time.Time {
	to := t.AddDate(0, months, 0)
	if to.Day() != t.Day() { // AddDate has returned March 3 in place of February 31
		to = to.AddDate(0, 0, -to.Day()) // the last day of the month before
	}
	return to
}

// Span returns a duration in its two largest units, for example "2d 3h". A year has 365 days.
// It returns a duration of less than a minute in a single unit, for example "1.5s" or "20ms".
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

// Rounded rounds a duration to about three digits, for example 12.3456s to 12.3s.
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

// Difference returns how far a clock is ahead of another clock or behind it, for example
// "3s behind" or "2m0s ahead of". In a sentence, the other clock follows: "this machine's
// clock is 2m0s ahead of the database's". ahead is negative if the clock is behind.
func Difference(ahead time.Duration) string {
	if ahead < 0 {
		return Rounded(-ahead).String() + " behind"
	}
	return Rounded(ahead).String() + " ahead of"
}
