package leasestore_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
)

// Is recognizes a store by the scheme of its URL alone, in upper or lower case.
func TestIs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"redis://h":          true,
		"REDISS://h":         true,
		"etcd://h":           true,
		"etcds://h":          true,
		"zookeeper://h":      true,
		"sqlite://redis.db":  false,
		"redis":              false,
		"":                   false,
		"postgres://redis/x": false,
	} {
		if got := leasestore.Is(url); got != want {
			t.Errorf("Is(%q) = %v, want %v", url, got, want)
		}
	}
}

// Open rejects a malformed URL before it connects to a server. No error contains the password.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, url, want string }{
		{"no URL", "hunter2", "not a URL of a store"},
		{"another scheme", "memcached://h", `unknown scheme "memcached"`},
		{"no host", "etcd://", "a host is missing"},
		{"no second host", "etcd://a:2379,", "a host is missing"},
		{"no name of a host", "etcd://:2379", "a host is missing"},
		{"slash in a password", "etcd://u:hunter2/x@h", "percent-encoded"},
		{"slash after digits", "redis://u:12/hunter2@h", "percent-encoded"},
		{"hash in a password", "redis://u:12#hunter2@h", "percent-encoded"},
		{"hosts of Redis", "redis://a,b", "the others as addr=host:port"},
		{"number of a database", "redis://h/x", "invalid database number"},
		{"unknown parameter of Redis", "redis://h/0?hunter=2", "unexpected option: hunter"},
		{"unknown parameter of sentinels", "redis://h/0?master_name=m&hunter=2", "unexpected option: hunter"},
		{"unknown parameter of a cluster", "redis://h?addr=b:1&hunter=2", "unexpected option: hunter"},
		{"path of etcd", "etcd://h/a", `path "/a": want none`},
		{"parameter of etcd", "etcd://h?ca=x", `unknown parameter "ca": want none`},
		{"parameter of etcd with TLS", "etcds://h?c=x", `unknown parameter "c": want ca, cert, key`},
		{"half a certificate", "etcds://h?cert=x", "want cert and key together"},
		{"no file", "etcds://h?ca=/none", "/none"},
		{"path of ZooKeeper", "zookeeper://h/a", `path "/a": want none`},
		{"parameter of ZooKeeper", "zookeeper://h?ca=x", `unknown parameter "ca"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := leasestore.Open(t.Context(), test.url, "default", slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open(%q): %v, want %q", test.url, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Open(%q) shows the password: %v", test.url, err)
			}
		})
	}
}

// If the server is down, Open returns an error that names the server, and does not contain
// the password.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits ten seconds")
	}
	for _, scheme := range []string{"redis", "etcd", "zookeeper"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			_, err := leasestore.Open(t.Context(), scheme+"://u:hunter2@127.0.0.1:1", "default", slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), scheme+" 127.0.0.1:1: ") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want the address without the password", err)
			}
		})
	}
}
