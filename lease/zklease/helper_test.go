package zklease_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func connect(t *testing.T, address string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}
