package sqlmigrate

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// volume returns rows and bytes in words, for example "2,000 rows, 1.5 MB". It leaves out
// a number that the database does not know. A size of 0 is unknown, and so are 0 rows in a
// table with a size.
func volume(rows, bytes int64) string {
	switch {
	case bytes == 0:
		return engine.Count(rows, "row")
	case rows == 0:
		return size(bytes)
	}
	return engine.Count(rows, "row") + ", " + size(bytes)
}

// size returns bytes in a decimal unit, for example "1.5 MB" or "999 bytes".
func size(bytes int64) string {
	value, unit := float64(bytes), 0
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	// 999.5 would be rounded to 1,000, which is 1.0 of the next unit.
	for value >= 999.5 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return engine.Count(bytes, "byte")
	}
	return significant(value) + " " + units[unit]
}

// duration returns d in words, for example "about 1.5 min" or "about 40 ms", and "at once"
// if d is less than 10 ms. It rounds to about two digits, because estimates are not more
// accurate.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return "at once"
	case d < time.Second:
		return fmt.Sprintf("about %d ms", d.Round(10*time.Millisecond).Milliseconds())
	case d < time.Minute:
		return "about " + significant(d.Seconds()) + " s"
	case d < time.Hour:
		return "about " + significant(d.Minutes()) + " min"
	default:
		return "about " + significant(d.Hours()) + " h"
	}
}

// significant returns x with one decimal place if it is less than 10, and as an integer
// otherwise, for example "1.5" or "150".
func significant(x float64) string {
	if x < 9.95 { // 9.95 would be rounded to 10.0
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return engine.Thousands(int64(math.Round(x)))
}
