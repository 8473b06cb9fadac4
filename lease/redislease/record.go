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

// decode reads fields and values in turn, and at the end the server and its time.
func decode(reply []string) (a answer, err error) {
	end := len(reply) - 2
	if end < 0 || end%2 != 0 {
		return a, fmt.Errorf("reply %q: want fields and values, server and time", reply)
	}
	micros, err := strconv.ParseInt(reply[end+1], 10, 64)
	if err != nil {
		return a, fmt.Errorf("time %q: want microseconds since 1970", reply[end+1])
	}
	a = answer{reply[end], time.UnixMicro(micros), make(map[int]lease.Record, end/2)}
	for i := 0; i < end && err == nil; i += 2 {
		err = remote.Add(a.records, reply[i], reply[i+1])
	}
	return a, err
}
