package redislease_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// A server has WAITAOF, and synced each write when the store read its settings. After a write
// the store asks by WAITAOF whether the write is on the disk. In all cases but the first it
// is not, because a setting has changed since, or because the server does not sync while it
// saves. CompareAndSwap must then return an error, and the store must read the settings again
// and log a warning. After a while, writes must succeed again.
func TestWritesAreOnDisk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		before  []string // settings with which the server starts
		change  []string // commands sent before the write
		wantErr string   // part of the error of the write, or empty if it succeeds
		wantLog string   // part of the warning after the write, or empty
	}{
		{"kept", durable, nil, "", ""},
		{"not synced during a save", append([]string{"--no-appendfsync-on-rewrite yes"}, durable...), saving, "not on the server's disk: ", "no-appendfsync-on-rewrite=yes"},
		{"not synced during a save any more", durable, append([]string{"CONFIG SET no-appendfsync-on-rewrite yes"}, saving...), "not on the server's disk: ", "no-appendfsync-on-rewrite=yes"},
		{"no longer synced", durable, []string{"CONFIG SET appendfsync no"}, "not on the server's disk: WAITAOF 1 0 1000: [0 0]: want appendonly yes", "appendfsync=no"},
		{"no longer on disk", durable, []string{"CONFIG SET appendonly no"}, "appendonly is disabled", "appendonly=no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, testserver.Valkey(t, test.before...))
			log := new(journal)
			store := redislease.New(client, redislease.WithLogger(log.logger()))
			storetest.Holds(t, store, map[int]lease.Record{})
			storetest.Write(t, store, 1, lease.Record{}, storetest.First)
			for _, command := range test.change {
				run(t, client, command)
			}
			swapped, err := store.CompareAndSwap(t.Context(), 1, storetest.First, storetest.Second)
			if test.wantErr == "" && !swapped || test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
				t.Errorf("CompareAndSwap = %v, %v, want %q", swapped, err, test.wantErr)
			}
			storetest.Holds(t, store, map[int]lease.Record{1: storetest.Second}) // and reads the settings again
			if test.wantLog != "" && log.matches(test.wantLog) != 1 {
				t.Errorf("logged %q, want once %q", log, test.wantLog)
			}
			worker := 1
			eventually(t, "a write", func() bool {
				worker++
				swapped, err = store.CompareAndSwap(t.Context(), worker, lease.Record{}, storetest.First)
				return err == nil && swapped
			})
		})
	}
}

// saving are commands that start a save. It takes three seconds for each key, which is longer
// than the second for which a write waits for WAITAOF.
var saving = []string{
	"CONFIG SET rdb-key-save-delay 3000000", "BGSAVE",
}

// run sends a command, whose words are separated by blanks.
func run(t *testing.T, client *redis.Client, command string) {
	t.Helper()
	var args []any
	for arg := range strings.FieldsSeq(command) {
		args = append(args, arg)
	}
	do(t, client, args...)
}

// The store does not wait for the disk if the user may not send WAITAOF, or if the
// settings do not sync every write.
func TestDiskIsNotAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings []string
		denied   string // denied to the user by a minus, and allowed by a plus
	}{
		{"without the command", durable, "-waitaof"},
		{"synced every second", []string{"--appendonly yes", "--appendfsync everysec"}, "+waitaof"},
		{"in memory", nil, "+waitaof"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Valkey(t, test.settings...)
			direct := clientOf(t, server)
			do(t, direct, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", test.denied)
			app := connect(t, server.URL(), func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
			store := redislease.New(app, redislease.WithLogger(new(journal).logger()))
			storetest.Holds(t, store, map[int]lease.Record{})
			storetest.Write(t, store, 1, lease.Record{}, storetest.First)
			if got := callsOf(t, direct, "waitaof"); got != 0 {
				t.Errorf("WAITAOF: %d times, want none", got)
			}
		})
	}
}
