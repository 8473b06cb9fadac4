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
	server string // the ID of its run, or "" where the user may not know
	now    time.Time
	values any
}

func decodeAnswer(reply any) (answer, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 3 {
		return answer{}, fmt.Errorf("redislease: reply %v: want server, time and values", reply)
	}
	now, err := decodeTime(parts[1])
	return answer{fmt.Sprint(parts[0]), now, parts[2]}, err
}

// pairs is what HGETALL would return of the fields, by what HMGET does.
func pairs(fields []any, reply any) (pairs []any) {
	values, _ := reply.([]any)
	for i, value := range values {
		if value != nil {
			pairs = append(pairs, fields[i], value)
		}
	}
	return pairs
}

// decodeAll reads what HGETALL returns from a script: field and value in turn.
func decodeAll(reply any) (map[int]lease.Record, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields)%2 != 0 {
		return nil, fmt.Errorf("redislease: reply %v: want fields and values", reply)
	}
	records := make(map[int]lease.Record, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		worker, err := strconv.Atoi(fmt.Sprint(fields[i]))
		if err != nil {
			return nil, fmt.Errorf("redislease: field %q: want a worker ID", fields[i])
		}
		if records[worker], err = remote.ParseRecord(fmt.Sprint(fields[i+1])); err != nil {
			return nil, fmt.Errorf("redislease: worker %d: %w", worker, err)
		}
	}
	return records, nil
}

// decodeTime reads what TIME returns from a script: seconds and microseconds
// since 1970.
func decodeTime(reply any) (time.Time, error) {
	if fields, ok := reply.([]any); ok && len(fields) == 2 {
		seconds, secondsErr := strconv.ParseInt(fmt.Sprint(fields[0]), 10, 64)
		micros, microsErr := strconv.ParseInt(fmt.Sprint(fields[1]), 10, 64)
		if secondsErr == nil && microsErr == nil {
			return time.Unix(seconds, micros*int64(time.Microsecond)), nil
		}
	}
	return time.Time{}, fmt.Errorf("redislease: time %v: want seconds and microseconds", reply)
}
