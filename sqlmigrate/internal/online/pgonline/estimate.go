package pgonline

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
