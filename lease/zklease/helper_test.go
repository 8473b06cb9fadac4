package zklease_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// connect returns a connection of its own.
func connect(t *testing.T, address string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// silent is a logger of the client that discards its messages.
type silent struct{}

func (silent) Printf(string, ...any) {}
