package lease

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A candidate is a worker that the lease may acquire, with its record. From the tick at start
// on, in Unix milliseconds, no other process can have issued an ID under the worker. The start
// is the bound in the record, with two exceptions. If the store has forgotten a higher bound
// that it acknowledged to this lease, the start is that bound. If an earlier write of the same
// claim has written the record, the start is the bound that this write has replaced.
type candidate struct {
	key    int
	record Record
	start  int64
}

// compare orders candidates by their start, and then by their key.
func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.start, other.start), cmp.Compare(c.key, other.key))
}

// A span is the set of workers that a lease may acquire: the workers config.first to
// config.last in each of some consecutive datacenters.
type span struct {
	config          *config
	firstDatacenter int64
	datacenters     int64 // the number of datacenters
}

// span returns the workers that the options allow.
func (c *config) span() span {
	switch {
	case c.datacenter != nil:
		return span{config: c, firstDatacenter: *c.datacenter, datacenters: 1}
	case c.oneWorker: // without WithDatacenter, WithWorker means datacenter 0
		return span{config: c, firstDatacenter: 0, datacenters: 1}
	}
	return span{config: c, firstDatacenter: 0, datacenters: datacenters(c.layout)}
}

// width returns the number of workers in each datacenter of the span.
func (s span) width() int64 { return s.config.last - s.config.first + 1 }

// size returns the number of workers of the span.
func (s span) size() int64 { return s.datacenters * s.width() }

// at returns the key of the i-th worker of the span. The workers of the first datacenter come
// first.
func (s span) at(i int64) int {
	return keyOf(s.config.layout, s.firstDatacenter+i/s.width(), s.config.first+i%s.width())
}

// has reports whether the worker with this key is in the span. The key of the layout's
// record is negative, so it is in no span.
func (s span) has(key int) bool {
	datacenter, worker := splitKey(s.config.layout, key)
	return key >= 0 && datacenter >= s.firstDatacenter && datacenter < s.firstDatacenter+s.datacenters &&
		worker >= s.config.first && worker <= s.config.last
}

// sampleSize is how many workers a claim first reads if the span has more workers. If half of
// all workers are in use, the chance that all 32 of a random sample are in use is one in four
// billion.
const sampleSize = 32

// sample returns the keys of all workers if the span has at most sampleSize workers.
// Otherwise it draws sampleSize workers at random. It returns fewer keys if it draws a worker
// twice.
func (s span) sample() []int {
	keys := make([]int, 0, sampleSize)
	for i := range min(s.size(), sampleSize) {
		key := s.at(i)
		if s.size() > sampleSize {
			key = s.at(s.config.random(s.size()))
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// pickUnused returns a worker of the span that is not among the used workers. It begins its
// search at a random worker, so that processes that start together rarely choose the same
// worker. The span must have more workers than used, or the search would not end.
func (s span) pickUnused(used []candidate) candidate {
	usedKeys := make(map[int]bool, len(used))
	for _, c := range used {
		usedKeys[c.key] = true
	}
	for i := s.config.random(s.size()); ; i = (i + 1) % s.size() {
		if key := s.at(i); !usedKeys[key] {
			return candidate{key: key}
		}
	}
}

// A chooser picks the worker to acquire from the records that were read. It remembers
// the bounds of workers that this lease has lost, and for how long each record has been
// unchanged, because a holder that does not change its record seems dead.
type chooser struct {
	*config
	lostBounds map[int]int64 // by key of a lost worker: the highest bound that the store acknowledged, in Unix ms
	liveness   liveness
}

// rememberBound remembers the last bound that the store acknowledged for a lost worker. The
// lease may have issued IDs up to that bound, so a later grant of the worker starts
// there.
func (ch *chooser) rememberBound(w *heldWorker) {
	ch.lostBounds[w.key] = max(ch.lostBounds[w.key], w.acknowledged)
}

// usedWorkers returns the workers that have a record or that this lease has lost, sorted by
// the first tick that a new holder may use. The store may have forgotten the record of a
// worker that this lease has lost.
func (ch *chooser) usedWorkers(records map[int]Record) []candidate {
	starts := maps.Clone(ch.lostBounds)
	for key, r := range records {
		starts[key] = max(starts[key], r.Bound)
	}
	var used []candidate
	for key, start := range starts {
		if ch.span().has(key) {
			used = append(used, candidate{key: key, record: records[key], start: start})
		}
	}
	slices.SortFunc(used, candidate.compare) // so that a simulation with one seed always makes the same choice
	return used
}

// choose picks a worker whose bound has passed, from the records of all workers. now is in
// Unix milliseconds. choose prefers a worker that was never used, and then the worker with the
// lowest bound.
//
// If collided is true, an earlier write of this claim was refused because another process
// wrote first. choose then picks at random among the workers whose bounds have passed, because
// processes that all choose the lowest bound would collide again.
//
// If no bound has passed, choose tries takeOver, and then fails with a [NoFreeWorkerError].
// starting is true for the first worker of a process, and false for a replacement of a lost
// worker.
func (ch *chooser) choose(records map[int]Record, now int64, collided, starting bool) (candidate, error) {
	s := ch.span()
	used := ch.usedWorkers(records)
	if int64(len(used)) < s.size() {
		return s.pickUnused(used), nil
	}
	free := filter(used, func(c candidate) bool { return c.start <= now })
	if len(free) > 0 && collided {
		return free[ch.random(int64(len(free)))], nil
	}
	if c, ok := lowestCandidate(free); ok {
		return c, nil
	}
	if c, ok := ch.takeOver(used, now, starting); ok {
		return c, nil
	}
	return candidate{}, noFreeWorker(ch.layout, used, now)
}

// chooseFromSample picks, from the keys of a random sample of the workers, the worker with the
// lowest bound, if that bound has passed. It returns false if no bound of the sample has
// passed. A worker that was never used has no record and so the bound 0. Of several such
// workers, the first of the sample wins.
func (ch *chooser) chooseFromSample(keys []int, records map[int]Record, now int64) (candidate, bool) {
	var free []candidate
	for _, key := range keys {
		c := candidate{key: key, record: records[key], start: max(records[key].Bound, ch.lostBounds[key])}
		if c.start <= now {
			free = append(free, c)
		}
	}
	if len(free) == 0 {
		return candidate{}, false
	}
	return slices.MinFunc(free, func(a, b candidate) int { return cmp.Compare(a.start, b.start) }), true
}

// takeOver picks a worker although its bound has not passed. The new holder then issues from
// that bound on, ahead of the clock. starting is true for the first worker of a process, and
// false for a replacement of a lost worker.
//
// A lease that replaces a lost worker first tries to take back a worker that it has lost
// earlier. This worker must have no holder, and its bound must not have risen above the last
// bound that the store acknowledged to this lease. The lease itself then wrote the highest
// bound, so it takes the worker however far ahead of the clock the bound is.
//
// Otherwise takeOver picks among the workers whose bounds are at most maxAhead ahead of the
// clock (see WithMaxAhead; the default is zero, so that there are none). It prefers a worker
// without a holder. If all have holders, a process that starts may take a worker even from a
// live holder. A lease that replaces a lost worker takes a worker only from a holder that
// seems dead. Otherwise, if there were more processes than workers, the processes would take
// workers from each other all the time.
func (ch *chooser) takeOver(used []candidate, now int64, starting bool) (candidate, bool) {
	mayTake := func(candidate) bool { return true } // a process that starts may take a worker from any holder
	if !starting {
		lostEarlier := filter(used, func(c candidate) bool {
			bound, lost := ch.lostBounds[c.key]
			return lost && c.isUnheld() && c.start == bound
		})
		if c, ok := lowestCandidate(lostEarlier); ok {
			return c, true
		}
		mayTake = ch.liveness.observe(used, ch.window) // reports whether the holder seems dead
	}
	near := filter(used, func(c candidate) bool { return c.start-now <= ch.maxAhead.Milliseconds() })
	if c, ok := lowestCandidate(filter(near, candidate.isUnheld)); ok {
		return c, true
	}
	return lowestCandidate(filter(near, mayTake))
}

// noFreeWorker returns a [NoFreeWorkerError] that lists the candidates, which must not be
// empty. It sorts them by the time at which each worker becomes free. The error's Wait is the
// time from now, in Unix milliseconds, until the first worker becomes free.
func noFreeWorker(layout snowflake.Layout, candidates []candidate, now int64) error {
	slices.SortFunc(candidates, candidate.compare)
	e := &NoFreeWorkerError{Wait: milliseconds(candidates[0].start - now)}
	for _, c := range candidates {
		e.Holders = append(e.Holders, holderOf(layout, c.key, c.record))
	}
	return e
}

// isUnheld reports whether the worker has no holder.
func (c candidate) isUnheld() bool { return c.record.heldBy() == "" }

// lowestCandidate returns the candidate with the lowest start. It returns false if the list
// is empty.
func lowestCandidate(candidates []candidate) (_ candidate, ok bool) {
	if len(candidates) == 0 {
		return candidate{}, false
	}
	return slices.MinFunc(candidates, candidate.compare), true
}

// filter returns the candidates for which test returns true, in a new slice.
func filter(candidates []candidate, test func(candidate) bool) []candidate {
	return slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !test(c) })
}

// liveness remembers for each worker since when its record has been unchanged. A live
// holder writes its record every third of a window.
type liveness map[int]observation

// An observation is a record as this lease last read it, and the time at which it first read
// the record in this state.
type observation struct {
	record Record
	since  time.Time
}

// observe updates the observations with the records of the used workers. It returns a function
// that reports whether the holder of such a worker seems dead, because its record has not
// changed for two windows. A window is here the longer of the holder's window and the window
// of this lease, which is the argument. It is at most maxWindow, because a record that a
// person has edited may contain any window.
func (l liveness) observe(used []candidate, window time.Duration) func(candidate) bool {
	now := time.Now()
	for _, c := range used {
		if l[c.key].record != c.record {
			l[c.key] = observation{record: c.record, since: now}
		}
	}
	return func(c candidate) bool {
		t, _ := parseToken(c.record.Owner)
		holderWindow := milliseconds(t.window)
		return now.Sub(l[c.key].since) >= 2*min(max(window, holderWindow), maxWindow)
	}
}
