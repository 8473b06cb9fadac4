package leasestore

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/lease/zklease"
)

const (
	sessionTimeout = 10 * time.Second

	// forceSync=yes states that no server has forceSync=no, which ZooKeeper does not show.
	forceSync = "forceSync"
)

func openZooKeeper(ctx context.Context, a address, namespace string, logger *slog.Logger) (*Store, error) {
	if err := a.only(forceSync); err != nil {
		return nil, err
	}
	options := []zklease.Option{zklease.WithNamespace(namespace), zklease.WithLogger(logger)}
	if value := a.Query().Get(forceSync); value == "yes" {
		options = append(options, zklease.WithForceSync())
	} else if value != "" {
		return nil, fmt.Errorf("%s=%s: want yes, if no server has forceSync=no", forceSync, value)
	}
	conn, events, err := zk.Connect(a.withPort("2181"), sessionTimeout, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return nil, err
	}
	if err := awaitSession(ctx, conn, events, a); err != nil {
		conn.Close()
		return nil, err
	}
	closeConn := func() error { conn.Close(); return nil }
	return &Store{zklease.New(conn, options...), closeConn}, nil
}

// awaitSession waits for a session, and authenticates it if the URL has a password.
func awaitSession(ctx context.Context, conn *zk.Conn, events <-chan zk.Event, a address) error {
	for conn.State() != zk.StateHasSession {
		select {
		case <-events:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if password, ok := a.User.Password(); ok {
		return conn.AddAuth("digest", []byte(a.User.Username()+":"+password))
	}
	return nil
}
