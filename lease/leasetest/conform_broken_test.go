package leasetest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A spoiledStore is a Memory that makes one mistake, in Load or in CompareAndSwap. All
// handles of a namespace share a spoiledStore. If load or swap is nil, this method is right.
type spoiledStore struct {
	*leasetest.Memory
	load func(ctx context.Context, m *leasetest.Memory) (map[int]lease.Record, error)
	swap func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error)
}

func (s *spoiledStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	if s.load == nil {
		return s.Memory.Load(ctx)
	}
	return s.load(ctx, s.Memory)
}

func (s *spoiledStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	if s.swap == nil {
		return s.Memory.CompareAndSwap(ctx, worker, old, to)
	}
	return s.swap(ctx, s.Memory, worker, old, to)
}

// A loadFunc is the Load, and a swapFunc the CompareAndSwap, of a spoiledStore over m.
type (
	loadFunc = func(ctx context.Context, m *leasetest.Memory) (map[int]lease.Record, error)
	swapFunc = func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error)
)

// comparing returns a store that compares the stored record, is, with the old record of a
// write by the function equal.
func comparing(equal func(is, old lease.Record) bool) *spoiledStore {
	return &spoiledStore{swap: func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
		if is := m.Records()[worker]; equal(is, old) {
			old = is
		}
		return m.CompareAndSwap(ctx, worker, old, to)
	}}
}

// keeping returns a store that changes keys and records before it keeps them.
func keeping(keep func(worker int, r lease.Record) (int, lease.Record)) *spoiledStore {
	return &spoiledStore{swap: func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
		_, old = keep(worker, old)
		worker, to = keep(worker, to)
		return m.CompareAndSwap(ctx, worker, old, to)
	}}
}

// swapping and loading return a store with this CompareAndSwap or Load.
func swapping(swap swapFunc) *spoiledStore { return &spoiledStore{swap: swap} }
func loading(load loadFunc) *spoiledStore  { return &spoiledStore{load: load} }

// spoiledStores are stores that each break one promise of a Store. Each has the name of the
// subtest of Conform that must detect this.
var spoiledStores = []struct {
	name  string
	store func() *spoiledStore
	seen  string // the subtest of Conform that must fail
}{
	{"bound not compared", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool { return is.Owner == old.Owner })
	}, "exact_compare"},
	{"owner not compared", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool { return is.Bound == old.Bound })
	}, "exact_compare"},
	{"case folded", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool {
			return is.Bound == old.Bound && strings.EqualFold(is.Owner, old.Owner)
		})
	}, "exact_compare"},
	{"padded with blanks", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool {
			return is.Bound == old.Bound && strings.TrimRight(is.Owner, " ") == strings.TrimRight(old.Owner, " ")
		})
	}, "exact_compare"},
	{"prefix compared", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool {
			return is.Bound == old.Bound && old.Owner != "" && strings.HasPrefix(is.Owner, old.Owner)
		})
	}, "exact_compare"},
	{"bound as a double", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool {
			return float64(is.Bound) == float64(old.Bound) && is.Owner == old.Owner
		})
	}, "bounds"},
	{"lower bound compared", func() *spoiledStore {
		return comparing(func(is, old lease.Record) bool { return is.Bound >= old.Bound && is.Owner == old.Owner })
	}, "exact_compare"},
	{"first write upserts", func() *spoiledStore {
		return comparing(func(_, old lease.Record) bool { return old == lease.Record{} })
	}, "absent_equals_zero"},
	{"absent equals anything", func() *spoiledStore {
		return comparing(func(is, _ lease.Record) bool { return is == lease.Record{} })
	}, "absent_differs_from_the_rest"},
	{"absent equals nothing", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if _, present := m.Records()[worker]; !present {
				return false, ctx.Err()
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "absent_equals_zero"},
	{"writes before it refuses", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if m.Records()[worker] == (lease.Record{}) {
				m.Put(worker, to)
				return old == lease.Record{}, ctx.Err()
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "absent_differs_from_the_rest"},
	{"adopts what it reads", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			swapped, err := m.CompareAndSwap(ctx, worker, old, to)
			return swapped || m.Records()[worker] == to, err
		})
	}, "same_again"},
	{"writes what is there", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if old == to {
				return m.Records()[worker] == old, ctx.Err()
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "old_record_is_the_new_one"},
	{"bound only rises", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if to.Bound < old.Bound {
				return false, ctx.Err()
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "release_and_take_again"},
	{"release deletes", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) {
			if r.Owner == "" {
				r.Bound = 0
			}
			return worker, r
		})
	}, "release_and_take_again"},
	{"owner cut off", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) {
			r.Owner = r.Owner[:min(100, len(r.Owner))]
			return worker, r
		})
	}, "owners"},
	{"owner split at the bar", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) {
			r.Owner, _, _ = strings.Cut(r.Owner, "|")
			return worker, r
		})
	}, "owners"},
	{"bound in 32 bits", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) {
			r.Bound = int64(int32(r.Bound))
			return worker, r
		})
	}, "bounds"},
	{"zero bound lost", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) {
			if r.Bound == 0 {
				r.Owner = ""
			}
			return worker, r
		})
	}, "layout_key"},
	{"keys in 16 bits", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) { return int(int16(worker)), r })
	}, "large_keys"},
	{"keys without sign", func() *spoiledStore {
		return keeping(func(worker int, r lease.Record) (int, lease.Record) { return max(worker, -worker), r })
	}, "layout_key"},
	{"first thousand loaded", func() *spoiledStore {
		return loading(func(ctx context.Context, m *leasetest.Memory) (map[int]lease.Record, error) {
			records, err := m.Load(ctx)
			for key := range records {
				if key >= 1000 {
					delete(records, key)
				}
			}
			return records, err
		})
	}, "1024_workers"},
	{"shares its map", func() *spoiledStore {
		var mu sync.Mutex
		var shared map[int]lease.Record
		return &spoiledStore{
			load: func(ctx context.Context, m *leasetest.Memory) (map[int]lease.Record, error) {
				mu.Lock()
				defer mu.Unlock()
				var err error
				if shared == nil {
					shared, err = m.Load(ctx)
				}
				return shared, err
			},
			swap: func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				shared = nil
				return m.CompareAndSwap(ctx, worker, old, to)
			},
		}
	}, "loaded_map_is_a_copy"},
	{"reads lag behind", func() *spoiledStore {
		var mu sync.Mutex
		before := map[int]lease.Record{}
		return &spoiledStore{
			load: func(ctx context.Context, _ *leasetest.Memory) (map[int]lease.Record, error) {
				mu.Lock()
				defer mu.Unlock()
				return maps.Clone(before), ctx.Err()
			},
			swap: func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				before = m.Records()
				return m.CompareAndSwap(ctx, worker, old, to)
			},
		}
	}, "visible_through_other_handles"},
	{"compares, then swaps", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if m.Records()[worker] != old {
				return false, ctx.Err()
			}
			time.Sleep(time.Millisecond)
			m.Put(worker, to)
			return true, ctx.Err()
		})
	}, "no_update_lost"},
	{"forgets a write", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			// Acknowledge every twentieth write, but compare it with a bound that no record has.
			if m.Calls().Swaps%20 == 19 && m.Records()[worker] == old {
				_, err := m.CompareAndSwap(ctx, worker, lease.Record{Bound: -1}, to)
				return true, err
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "overwrite_chain"},
	{"does not heed contexts", func() *spoiledStore {
		return &spoiledStore{
			load: func(_ context.Context, m *leasetest.Memory) (map[int]lease.Record, error) {
				return m.Load(context.Background())
			},
			swap: func(_ context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
				return m.CompareAndSwap(context.Background(), worker, old, to)
			},
		}
	}, "context_ended_before"},
	{"outlives contexts", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			// Only the writes of the subtests on contexts have a context without a deadline,
			// or a context that has ended. The other writes of the suite are not delayed.
			if _, hurried := ctx.Deadline(); !hurried || ctx.Err() != nil {
				time.Sleep(promptly + promptly/5)
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "context_ended_before"},
	{"half a write after an error", func() *spoiledStore {
		return swapping(func(ctx context.Context, m *leasetest.Memory, worker int, old, to lease.Record) (bool, error) {
			if ctx.Err() != nil {
				m.Put(worker, lease.Record{Bound: to.Bound, Owner: old.Owner})
			}
			return m.CompareAndSwap(ctx, worker, old, to)
		})
	}, "context_ended_before"},
}

// An optionalStore implements all optional interfaces that Conform tests. A test may spoil
// each of them.
type optionalStore struct {
	lease.Store
	// get is the method Get.
	get     func(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error)
	check   error              // the result of Check
	off     time.Duration      // how far the clock is ahead
	stands  time.Time          // if it is not zero, the clock stands at this time
	connect func() lease.Store // returns the store over a new connection
	places  chan struct{}      // holds a value for each connection, or for each turn
	kept    bool               // connections are not released, and turns do not end
	endless bool               // there is no limit on turns
}

func (s *optionalStore) Now(ctx context.Context) (time.Time, error) {
	if !s.stands.IsZero() {
		return s.stands, ctx.Err()
	}
	return time.Now().Add(s.off), ctx.Err()
}

// Connect waits for a free place, and returns the store of s.connect.
func (s *optionalStore) Connect(ctx context.Context) (lease.Store, func(), error) {
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case s.places <- struct{}{}:
	}
	return s.connect(), func() {
		if !s.kept {
			<-s.places
		}
	}, ctx.Err()
}

func (s *optionalStore) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	return s.get(ctx, keys)
}

// getRight is a correct Get.
func (s *optionalStore) getRight(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	records, err := s.Load(ctx)
	maps.DeleteFunc(records, func(key int, _ lease.Record) bool { return !slices.Contains(keys, key) })
	return records, time.Now(), err
}

// Enter waits for a free place.
func (s *optionalStore) Enter(ctx context.Context) (func(), error) {
	if s.endless {
		return func() {}, ctx.Err()
	}
	select {
	case s.places <- struct{}{}:
		return func() {
			if !s.kept {
				<-s.places
			}
		}, ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *optionalStore) Check(context.Context) error { return s.check }

// optional returns a store with all optional interfaces, which spoil may change.
func optional(spoil func(*optionalStore)) lease.Store {
	s := &optionalStore{Store: leasetest.NewMemory(), places: make(chan struct{}, 5)} // five connections, or turns, at a time
	s.connect = func() lease.Store { return s }
	s.get = s.getRight
	spoil(s)
	return s
}

// spoiledOptions are changes of an optionalStore that each break a promise of one optional
// interface.
var spoiledOptions = []struct {
	name  string
	spoil func(*optionalStore)
	seen  string // the subtest of Conform that must fail
}{
	{"clock of another zone", func(s *optionalStore) { s.off = time.Hour }, "clock"},
	{"clock stands", func(s *optionalStore) { s.stands = time.Now() }, "clock"},
	{"connection to other records", func(s *optionalStore) {
		s.connect = func() lease.Store { return leasetest.NewMemory() }
	}, "connections"},
	{"connection without the clock", func(s *optionalStore) {
		s.connect = func() lease.Store { return struct{ lease.Store }{s.Store} }
	}, "connections"},
	{"connections not released", func(s *optionalStore) { s.kept = true }, "connections"},
	{"connection that reads all or nothing", func(s *optionalStore) {
		s.connect = func() lease.Store {
			return struct {
				lease.Store
				lease.Clock
			}{s.Store, s}
		}
	}, "connections"},
	{"gets more than was asked for", func(s *optionalStore) {
		s.get = func(ctx context.Context, _ []int) (map[int]lease.Record, time.Time, error) {
			records, err := s.Load(ctx)
			return records, time.Now(), err
		}
	}, "some_records"},
	{"gets no layout", func(s *optionalStore) {
		s.get = func(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
			records, at, err := s.getRight(ctx, keys)
			delete(records, -1)
			return records, at, err
		}
	}, "some_records"},
	{"gets no time", func(s *optionalStore) {
		s.get = func(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
			records, _, err := s.getRight(ctx, keys)
			return records, time.Time{}, err
		}
	}, "some_records"},
	{"gets the time of another zone", func(s *optionalStore) {
		s.get = func(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
			records, at, err := s.getRight(ctx, keys)
			return records, at.Add(time.Hour), err
		}
	}, "some_records"},
	{"gets what has ended", func(s *optionalStore) {
		s.get = func(_ context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
			return s.getRight(context.Background(), keys)
		}
	}, "some_records"},
	{"turns without a limit", func(s *optionalStore) { s.endless = true }, "turns"},
	{"turns that never end", func(s *optionalStore) { s.kept = true }, "turns"},
	{"check that always fails", func(s *optionalStore) { s.check = errors.New("no") }, "check"},
}

// An optionalStore that no test spoils must pass the suite. Otherwise
// TestConformFindsSpoiledStores would prove nothing, because the suite could fail for another
// reason than the spoiled method.
func TestOptionalStoreConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conform(t, opener(func() lease.Store { return optional(func(*optionalStore) {}) }))
}

// playSpoiled is the environment variable that makes a child of the test binary run the suite
// on the stores that must fail the suite.
const playSpoiled = "GORMFLAKE_LEASETEST_SPOILED"

// TestSpoiledStores runs the suite on stores that must fail it, in the child process of
// TestConformFindsSpoiledStores.
func TestSpoiledStores(t *testing.T) {
	if os.Getenv(playSpoiled) == "" {
		t.Skip("played by TestConformFindsSpoiledStores")
	}
	t.Parallel()
	for _, test := range spoiledStores {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conformSoon(t, opener(func() lease.Store {
				s := test.store()
				s.Memory = leasetest.NewMemory()
				return s
			}))
		})
	}
	for _, test := range spoiledOptions {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conformSoon(t, opener(func() lease.Store { return optional(test.spoil) }))
		})
	}
	t.Run("namespaces shared", func(t *testing.T) {
		t.Parallel()
		one := leasetest.NewMemory()
		conformSoon(t, func(*testing.T, string) lease.Store { return one })
	})
}

// promptly is how soon a spoiled store has to return after the end of a context.
const promptly = 500 * time.Millisecond

// conformSoon runs the suite with short limits, because a spoiled store may hang.
func conformSoon(t *testing.T, open leasetest.Opener) {
	t.Helper()
	leasetest.ConformWithin(t, open, 4*promptly, promptly)
}

// opener returns an Opener that makes one store per namespace.
func opener(open func() lease.Store) leasetest.Opener {
	var mu sync.Mutex
	stores := map[string]lease.Store{}
	return func(_ *testing.T, namespace string) lease.Store {
		mu.Lock()
		defer mu.Unlock()
		if stores[namespace] == nil {
			stores[namespace] = open()
		}
		return stores[namespace]
	}
}

// Conform must fail for every store that breaks a promise, in the subtest for this promise.
// The suite runs in a child process, because its failures would fail this test.
func TestConformFindsSpoiledStores(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestSpoiledStores$", "-test.v", "-test.parallel=100")
	cmd.Env = append(os.Environ(), playSpoiled+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("the suite passes spoiled stores")
	}
	want := func(store, subtest string) {
		name := "--- FAIL: TestSpoiledStores/" + strings.ReplaceAll(store, " ", "_") + "/" + subtest + " ("
		if !strings.Contains(string(out), name) {
			t.Errorf("no %q", name)
		}
	}
	for _, test := range spoiledStores {
		want(test.name, test.seen)
	}
	for _, test := range spoiledOptions {
		want(test.name, test.seen)
	}
	want("namespaces shared", "namespaces_apart")
	if t.Failed() {
		t.Logf("%s", out)
	}
}
