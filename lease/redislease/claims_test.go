package redislease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// Get returns the records of the keys that exist, and the time of the server.
func TestGet(t *testing.T) {
	t.Parallel()
	store := redislease.New(clientOf(t, testserver.Redis(t, durable...)))
	getter := store.(lease.Getter)
	written := map[int]lease.Record{-1: storetest.First, 7: storetest.Second, 1000000: storetest.First}
	for key, record := range written {
		storetest.Write(t, store, key, lease.Record{}, record)
	}
	tests := []struct {
		name string
		keys []int
		want map[int]lease.Record
	}{
		{"none is there", []int{0, 1, 70}, map[int]lease.Record{}},
		{"some are", []int{1, 7, -1, 8}, map[int]lease.Record{-1: storetest.First, 7: storetest.Second}},
		{"all are", []int{1000000, -1, 7}, written},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := time.Now().Truncate(time.Microsecond)
			got, now, err := getter.Get(t.Context(), test.keys)
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("Get = %v, %v, want %v", got, err, test.want)
			}
			if now.Before(before) || now.After(time.Now()) {
				t.Errorf("time = %v, want one since %v", now, before)
			}
		})
	}
}

// The first Get reads the records and then the settings, which takes a while. It must then
// read the records and the server's time again. A lease compares the returned time with its
// own clock, so an old time would make its clock look wrong.
func TestGetReturnsTheTimeOfItsAnswer(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, durable...))
	client.AddHook(slowConfig{})
	_, now, err := redislease.New(client).(lease.Getter).Get(t.Context(), []int{1})
	if age := time.Since(now); err != nil || age > slowness {
		t.Errorf("Get = a time of %v ago, %v, want less than %v", age, err, slowness)
	}
}

// Get returns an error for a missing client, and for values that no store has written.
func TestGetFails(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, durable...))
	get := func(store lease.Store) error {
		_, _, err := store.(lease.Getter).Get(t.Context(), []int{1})
		return err
	}
	if err := get(redislease.New(nil)); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Errorf("Get without a client: %v", err)
	}
	do(t, client, "HSET", "gormflake:{default}", "1", "foreign")
	if err := get(redislease.New(client)); err == nil || !strings.Contains(err.Error(), "worker 1: ") {
		t.Errorf("Get of what is no record: %v", err)
	}
	do(t, client, "SET", "gormflake:{other}", "foreign")
	if err := get(redislease.New(client, redislease.WithNamespace("other"))); err == nil || !strings.HasPrefix(err.Error(), "redislease: read: WRONGTYPE") {
		t.Errorf("Get of what is no hash: %v", err)
	}
}

// A hundred calls start at once on a store that has not read the server's settings yet. Only
// one of them may read the settings.
func TestSettingsAreReadOnceForAll(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, durable...))
	store := redislease.New(client)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if _, _, err := store.(lease.Getter).Get(t.Context(), []int{i}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := callsOf(t, client, "config|get"); got != 2 { // for two kinds of settings
		t.Errorf("CONFIG GET: %d times, want 2", got)
	}
}

// Many leases call Now before they extend their windows, on a server whose settings the store
// refuses. Only one of these calls may start a check of the settings, which takes a while. All
// calls must return without waiting for the check.
func TestFailingChecksDoNotQueue(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, "--maxmemory-policy allkeys-lru"))
	held := heldConfig{release: make(chan struct{})}
	client.AddHook(held)
	clock := redislease.New(client, redislease.WithLogger(new(journal).logger())).(lease.Clock)
	for range 50 {
		if _, err := clock.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(held.release)
	for began := time.Now(); callsOf(t, client, "config|get") < 2 && time.Since(began) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(slowness)                                   // for further calls, which must not come
	if got := callsOf(t, client, "config|get"); got != 2 { // for two kinds of settings
		t.Errorf("CONFIG GET: %d times, want 2", got)
	}
}

// A store lets 16 claims work at once. With two processors, go-redis makes a pool of 20
// connections by default, so that four are left for extensions of windows. The 17th claim
// waits until another claim has left.
func TestEnter(t *testing.T) {
	t.Parallel()
	const turns = 16
	queue := redislease.New(clientOf(t, testserver.Redis(t))).(lease.Queue)
	var leaves []func()
	for range turns {
		leave, err := queue.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, stopped)
	defer cancel()
	if _, err := queue.Enter(ctx); !errors.Is(err, stopped) {
		t.Errorf("Enter of one more = %v, want the cause of the context", err)
	}
	leaves[3]()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := queue.Enter(ctx); err != nil {
		t.Errorf("Enter once one has left: %v", err)
	}
}
