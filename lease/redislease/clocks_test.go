package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// A process whose clock is wrong must block its worker only briefly, because the store has a
// clock with which the lease compares the clock of the process.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	storetest.WrongClocks(t, func() storetest.Client { return storeOf(t, server) })
}

// The server restarts with a wrong clock. Processes whose clocks are right must continue.
// While the server's clock is behind, a process that starts must be refused.
func TestWrongServerClock(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--appendonly yes")
	storetest.WrongServerClock(t, server, func() storetest.Client { return storeOf(t, server) })
}

// storeOf returns a store with a client of its own, and the function that closes the
// client.
func storeOf(t *testing.T, server *testserver.Server) storetest.Client {
	t.Helper()
	client := clientOf(t, server)
	return storetest.Client{Store: redislease.New(client, redislease.WithLogger(new(journal).logger())), Close: func() { client.Close() }}
}
