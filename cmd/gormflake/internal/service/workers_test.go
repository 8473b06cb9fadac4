package service_test

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// The list contains held, lapsed and free workers. Owners are names of hosts, so only a
// server with a token shows them.
func TestWorkers(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	handler := open(t, leasedGenerator(t, store, lease.WithWorker(2), lease.WithDatacenter(1)), withToken, func(c *service.Config) { c.Store = store })
	in, err := lease.Inspect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	h := in.Holders[0]
	store.Put(1, lease.Record{Bound: 1_700_000_000_123, Owner: "host/1/dead"})
	store.Put(5, lease.Record{Bound: 1_700_000_000_000})
	want := `{"workers":[` +
		`{"datacenter":0,"worker":1,"owner":"host/1/dead","bound":"2023-11-14T22:13:20.123Z","state":"lapsed"},` +
		`{"datacenter":0,"worker":5,"bound":"2023-11-14T22:13:20.000Z","state":"free"},` +
		fmt.Sprintf(`{"datacenter":1,"worker":2,"owner":%q,"bound":%q,"state":"held"}]}`, h.Owner, h.Until.UTC().Format("2006-01-02T15:04:05.000Z"))
	expect(t, get(handler, "/v1/workers", "Authorization", "Bearer "+secret), http.StatusOK, want)
	anybody := get(open(t, nil, func(c *service.Config) { c.Store = store }), "/v1/workers")
	owner := regexp.MustCompile(`"owner":"[^"]*",`)
	expect(t, anybody, http.StatusOK, owner.ReplaceAllString(want, ""))
}

// Without a store, /v1/workers is not found. A store without records gives an empty list, not
// null.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	expect(t, get(open(t, fixedGenerator(t)), "/v1/workers"), http.StatusNotFound,
		`{"title":"Not Found","status":404,"detail":"this server has no database with workers: start it with --dsn"}`)
	empty := open(t, nil, func(c *service.Config) { c.Store = leasetest.NewMemory() })
	expect(t, get(empty, "/v1/workers"), http.StatusOK, `{"workers":[]}`)
}

// The service reads the store at most once a second, however many clients request
// /v1/workers, and never writes to it.
func TestWorkersSpareTheStore(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	handler := open(t, nil, func(c *service.Config) { c.Store = store })
	start := time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				get(handler, "/v1/workers")
			}
		})
	}
	wg.Wait()
	most := 1 + int(time.Since(start)/time.Second)
	if calls := store.Calls(); calls.Loads < 1 || calls.Loads > most || calls.Swaps > 0 {
		t.Errorf("%+v, want 1 to %d loads and no swap", calls, most)
	}
}
