package testserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestPostgresStandby checks that a primary that waits for its standby acknowledges no
// write that the standby lacks.
func TestPostgresStandby(t *testing.T) {
	t.Parallel()
	primary := testserver.Postgres(t, "synchronous_standby_names=*")
	replication := testserver.NewProxy(t, primary.Address())
	standby := testserver.PostgresStandby(t, replication)
	clients := testserver.NewProxy(t, primary.Address())
	client := sqlClient(t, primary.URLThrough(clients))
	if err := client.write(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	replication.Lead("") // no server has this address, so the standby stays cut off
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := client.write(ctx, "two"); err == nil {
		t.Error("the primary has not waited for its standby")
	}
	primary.Kill()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	clients.Lead(standby.Address())
	if got, err := client.read(t.Context()); err != nil || got != "one" {
		t.Errorf("read %q, %v, want the value written before the standby was cut off", got, err)
	}
	if err := client.write(t.Context(), "three"); err != nil {
		t.Error(err)
	}
}

// TestStallingMariaDB checks the fault that StallingMariaDB provokes. While the write to the
// redo log is delayed, a client can already read a row that has not been acknowledged, and
// the row is gone after the server has been killed.
func TestStallingMariaDB(t *testing.T) {
	t.Parallel()
	server, stall := testserver.StallingMariaDB(t, "innodb_flush_log_at_trx_commit=1")
	client := sqlClient(t, server.URL())
	stall.Begin()
	written := make(chan error, 1)
	go func() { written <- client.write(t.Context(), "one") }()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		got, err := client.read(t.Context())
		if err == nil && got == "one" {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("read %q, %v, want the value that waits", got, err)
		}
	}
	select {
	case err := <-written:
		t.Errorf("the server has not waited for its log: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	server.Kill()
	stall.End()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if got, err := client.read(t.Context()); err == nil {
		t.Errorf("read %q, want nothing: it was not in the log", got)
	}
	if err := client.write(t.Context(), "two"); err != nil {
		t.Error(err)
	}
}
