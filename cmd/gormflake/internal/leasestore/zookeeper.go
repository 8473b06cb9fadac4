package leasestore

import (
	"context"
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/lease/zklease"
)

const sessionTimeout = 10 * time.Second

func openZooKeeper(ctx context.Context, a address, namespace string) (*Store, error) {
	if err := a.only(); err != nil {
		return nil, err
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
	return &Store{zklease.New(conn, zklease.WithNamespace(namespace)), closeConn}, nil
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
