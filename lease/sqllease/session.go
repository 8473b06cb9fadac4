package sqllease

import (
	"errors"
	"log/slog"
)

// A session is the state of a connection, as an inspection has found it.
type session struct {
	server   string    // name of the server; empty if the dialect does not read it
	dirt     error     // why the store must not write on the connection; nil if it may
	findings []finding // settings under which the database can forget writes
}

// A finding is a setting under which the database can forget writes.
type finding struct {
	level slog.Level // Error if the store refuses the setting at first use
	text  string     // the setting and how to fix it
}

// errDirty is wrapped by errors about a connection that a program has left in a state
// in which the store must not write, for example with autocommit=0. It is the first
// words of these errors.
var errDirty = errors.New("the connection")

// errStandby is wrapped by the error of a read that a standby has answered. A standby
// may not have the last acknowledged writes yet.
var errStandby = errors.New("the server is a standby, which lags")

// orAccept is the end of errors about a server, setting or table that may forget writes.
const orAccept = " (or accept it with AllowVolatile and lease.WithSettle)"
