package lease

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A candidate is a worker that the lease may acquire, its record, and the first
// tick that nobody has issued: the record's bound, or a higher one that the store
// has forgotten after it acknowledged it to this lease.
type candidate struct {
	key    int
	record Record
	start  int64
}

func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.start, other.start), cmp.Compare(c.key, other.key))
}

// A span is the workers that a lease may acquire: the same numbers of some
// contiguous datacenters.
type span struct {
	config            *config
	datacenter, count int64
}

func (c *config) span() span {
	switch {
	case c.datacenter != nil:
		return span{c, *c.datacenter, 1}
	case c.one:
		return span{c, 0, 1}
	}
	return span{c, 0, datacenters(c.layout)}
}

func (s span) width() int64 { return s.config.last - s.config.first + 1 }
func (s span) size() int64  { return s.count * s.width() }

// at returns the key of the i-th worker.
func (s span) at(i int64) int {
	return keyOf(s.config.layout, s.datacenter+i/s.width(), s.config.first+i%s.width())
}

func (s span) has(key int) bool {
	datacenter, worker := numbers(s.config.layout, key)
	return key >= 0 && datacenter >= s.datacenter && datacenter < s.datacenter+s.count &&
		worker >= s.config.first && worker <= s.config.last
}

// fewWorkers is how many a claim reads of many. With half of them in use, all of
// these are in one of four billion tries.
const fewWorkers = 32

// few returns some workers at random, and all where there are no more.
func (s span) few() []int {
	keys := make([]int, 0, fewWorkers)
	for i := range min(s.size(), fewWorkers) {
		key := s.at(i)
		if s.size() > fewWorkers {
			key = s.at(s.config.random(s.size()))
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// unused returns a worker that is not among the used ones, at random so that
// processes which start together rarely want the same one. There must be one.
func (s span) unused(used []candidate) candidate {
	keys := make(map[int]bool, len(used))
	for _, c := range used {
		keys[c.key] = true
	}
	for i := s.config.random(s.size()); ; i = (i + 1) % s.size() {
		if key := s.at(i); !keys[key] {
			return candidate{key: key}
		}
	}
}

// A chooser picks a worker among records. It knows what the lease has lost and since
// when others have been silent.
type chooser struct {
	*config
	lostBounds map[int]int64 // of workers that this lease has lost: the highest that was acknowledged, in Unix ms
	liveness   liveness
}

// noteLost remembers up to where the lease may have issued under a worker: no grant of
// it begins below.
func (ch *chooser) noteLost(w *heldWorker) {
	ch.lostBounds[w.key] = max(ch.lostBounds[w.key], w.acknowledged)
}

// used returns the workers that have a record, or had one, those that start first
// before the others.
func (ch *chooser) used(records map[int]Record) []candidate {
	starts := maps.Clone(ch.lostBounds)
	for key, r := range records {
		starts[key] = max(starts[key], r.Bound)
	}
	var used []candidate
	for key, start := range starts {
		if ch.span().has(key) {
			used = append(used, candidate{key, records[key], start})
		}
	}
	slices.SortFunc(used, candidate.compare) // one seed, one choice
	return used
}

// choose picks a worker whose bound has passed: the one with the lowest, which
// is one that was never used if there is any, or a random one of all once a
// try has collided with another process.
func (ch *chooser) choose(records map[int]Record, now int64, collided, starting bool) (candidate, error) {
	s := ch.span()
	used := ch.used(records)
	if int64(len(used)) < s.size() {
		return s.unused(used), nil
	}
	free := only(used, func(c candidate) bool { return c.start <= now })
	if len(free) > 0 && collided {
		return free[ch.random(int64(len(free)))], nil
	}
	if c, ok := lowest(free); ok {
		return c, nil
	}
	if c, ok := ch.takeOver(used, now, starting); ok {
		return c, nil
	}
	return candidate{}, noFreeWorker(ch.layout, used, now)
}

// chooseAmong picks one of these workers whose bound has passed: the one with the
// lowest, and of those that were never used any one.
func (ch *chooser) chooseAmong(keys []int, records map[int]Record, now int64) (candidate, bool) {
	var found []candidate
	for _, key := range keys {
		c := candidate{key, records[key], max(records[key].Bound, ch.lostBounds[key])}
		if c.start <= now {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return candidate{}, false
	}
	return slices.MinFunc(found, func(a, b candidate) int { return cmp.Compare(a.start, b.start) }), true
}

// takeOver picks a worker whose bound is ahead of the clock, preferably one that was
// released. A lease that has lost its worker takes from nobody who is alive, or
// processes that outnumber the workers would keep taking each other's. Its own worker,
// whose bound the store has forgotten, it may have at once.
func (ch *chooser) takeOver(used []candidate, now int64, starting bool) (candidate, bool) {
	mayTake := func(candidate) bool { return true }
	if !starting {
		own := only(used, func(c candidate) bool {
			bound, lost := ch.lostBounds[c.key]
			return lost && c.unheld() && c.start == bound
		})
		if c, ok := lowest(own); ok {
			return c, true
		}
		mayTake = ch.liveness.dead(used, ch.window)
	}
	near := only(used, func(c candidate) bool { return c.start-now <= ch.maxAhead.Milliseconds() })
	if c, ok := lowest(only(near, candidate.unheld)); ok {
		return c, true
	}
	return lowest(only(near, mayTake))
}

// noFreeWorker is the error where none of the candidates is free.
func noFreeWorker(layout snowflake.Layout, candidates []candidate, now int64) error {
	slices.SortFunc(candidates, candidate.compare)
	e := &NoFreeWorkerError{Wait: milliseconds(candidates[0].start - now)}
	for _, c := range candidates {
		e.Holders = append(e.Holders, holder(layout, c.key, c.record))
	}
	return e
}

func (c candidate) unheld() bool { return c.record.heldBy() == "" }

func lowest(candidates []candidate) (_ candidate, ok bool) {
	if len(candidates) == 0 {
		return candidate{}, false
	}
	return slices.MinFunc(candidates, candidate.compare), true
}

func only(candidates []candidate, test func(candidate) bool) []candidate {
	return slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !test(c) })
}

// liveness knows since when the records have not changed: a live holder writes
// its own every third of a window.
type liveness map[int]observation

type observation struct {
	record Record
	since  time.Time
}

// dead notes what the records are now, and returns a test for holders that have
// written nothing for two windows, their own or ours, whichever is longer.
func (l liveness) dead(used []candidate, window time.Duration) func(candidate) bool {
	now := time.Now()
	for _, c := range used {
		if l[c.key].record != c.record {
			l[c.key] = observation{c.record, now}
		}
	}
	return func(c candidate) bool {
		t, _ := parseToken(c.record.Owner)
		theirs := milliseconds(t.window)
		return now.Sub(l[c.key].since) >= 2*min(max(window, theirs), maxWindow)
	}
}
