package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

func TestWrongClocks(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	storetest.WrongClocks(t, func() storetest.Client { return storeOf(t, server) })
}

func TestWrongServerClock(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--appendonly yes")
	storetest.WrongServerClock(t, server, func() storetest.Client { return storeOf(t, server) })
}

func storeOf(t *testing.T, server *testserver.Server) storetest.Client {
	t.Helper()
	client := clientOf(t, server)
	return storetest.Client{Store: redislease.New(client, redislease.WithLogger(new(journal).logger())), Close: func() { client.Close() }}
}
