package readonly

// ClockSQL is the database's clock in microseconds.
var ClockSQL = map[string]string{
	"mysql":    "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}
