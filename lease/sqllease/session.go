package sqllease

import (
	"errors"
	"log/slog"
)

// A session is the state of a connection, as an inspection has found it.
type session struct {
	server   string // the server that answers, if several may
	dirt     error  // why the store must not write on it; nil if it may
	findings []finding
}

// A finding is a setting under which the database can forget writes.
type finding struct {
	level slog.Level // Error if the store refuses the setting at first use
	text  string     // the setting and how to fix it
}

// errDirty is wrapped by errors about a connection that a program has left in a state
// in which the store must not write.
var errDirty = errors.New("the connection")

var errStandby = errors.New("the server is a standby, which lags")

const orAccept = " (or accept it with AllowVolatile and lease.WithSettle)"
