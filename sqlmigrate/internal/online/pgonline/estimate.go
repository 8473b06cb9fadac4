package pgonline

import "time"

// Rows a second, and bytes for each row, of tables with two bigint columns and
// two indexes, under load: docs/measurements.md has the measurements.
const (
	copyRate       = 7_500
	vacuumRate     = 100_000
	indexRate      = 150_000
	scanRate       = 1_000_000
	foreignKeyRate = 100_000

	copyLog    = 600
	vacuumLog  = 100
	indexBytes = 22
)

func perRow(rows int64, rate float64) time.Duration {
	return time.Duration(float64(rows) / rate * float64(time.Second)).Round(time.Millisecond)
}
