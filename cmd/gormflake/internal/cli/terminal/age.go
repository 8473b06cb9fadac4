package terminal

import (
	"fmt"
	"time"
)

// Milliseconds is the format of times.
const Milliseconds = "2006-01-02T15:04:05.000Z07:00"

// Age is a duration in its two largest units.
func Age(d time.Duration) string {
	if d < 0 {
		return "in " + Span(-d)
	}
	return Span(d) + " ago"
}

// Span is a duration in its two largest units.
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

// Rounded has about three digits.
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

// Difference is how far one clock is ahead of another, or behind it.
func Difference(ahead time.Duration) string {
	if ahead < 0 {
		return Rounded(-ahead).String() + " behind"
	}
	return Rounded(ahead).String() + " ahead of"
}
