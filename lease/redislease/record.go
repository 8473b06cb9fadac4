package redislease

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/remote"
)

// An answer is what the script read returns.
type answer struct {
	server  string // the ID of its run; "" where the user may not ask for it
	now     time.Time
	records map[int]lease.Record
}

func decode(reply any) (a answer, err error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 3 {
		return a, fmt.Errorf("redislease: reply %v: want server, time and records", reply)
	}
	micros, err := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 64)
	if err != nil {
		return a, fmt.Errorf("redislease: time %v: want microseconds since 1970", parts[1])
	}
	a.server, a.now = fmt.Sprint(parts[0]), time.UnixMicro(micros)
	a.records, err = decodeAll(parts[2])
	return a, err
}

// decodeAll reads fields and values in turn.
func decodeAll(reply any) (map[int]lease.Record, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields)%2 != 0 {
		return nil, fmt.Errorf("redislease: reply %v: want fields and values", reply)
	}
	records := make(map[int]lease.Record, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		if err := remote.Add(records, fmt.Sprint(fields[i]), fmt.Sprint(fields[i+1])); err != nil {
			return nil, fmt.Errorf("redislease: %w", err)
		}
	}
	return records, nil
}
