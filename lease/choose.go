package lease

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// A candidate is a worker that the lease may take, and its record.
type candidate struct {
	key    int
	record Record
}

func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.record.Bound, other.record.Bound), cmp.Compare(c.key, other.key))
}

// A span is the workers that a lease may take: the same numbers of some
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
	return s.config.key(s.datacenter+i/s.width(), s.config.first+i%s.width())
}

func (s span) has(key int) bool {
	datacenter, worker := s.config.numbers(key)
	return key >= 0 && datacenter >= s.datacenter && datacenter < s.datacenter+s.count &&
		worker >= s.config.first && worker <= s.config.last
}

// used returns the workers that have a record.
func (s span) used(records map[int]Record) []candidate {
	var used []candidate
	for key, r := range records {
		if s.has(key) {
			used = append(used, candidate{key, r})
		}
	}
	return used
}

// unused returns a worker that has no record, at random so that processes
// which start together rarely want the same one. There must be one.
func (s span) unused(records map[int]Record) candidate {
	for i := rand.Int64N(s.size()); ; i = (i + 1) % s.size() {
		if key := s.at(i); !known(records, key) {
			return candidate{key: key}
		}
	}
}

func known(records map[int]Record, key int) bool {
	_, ok := records[key]
	return ok
}

// choose picks a worker whose bound has passed: the one with the lowest, which
// is one that was never used if there is any, or a random one of all once a
// try has collided with another process.
func (l *Lease) choose(records map[int]Record, now int64, collided bool, ahead aheadRule) (candidate, error) {
	s := l.span()
	used := s.used(records)
	if int64(len(used)) < s.size() {
		return s.unused(records), nil
	}
	free := only(used, func(c candidate) bool { return c.record.Bound <= now })
	switch {
	case len(free) > 0 && collided:
		return free[rand.IntN(len(free))], nil
	case len(free) > 0:
		return slices.MinFunc(free, candidate.compare), nil
	}
	if c, ok := ahead(used, now); ok {
		return c, nil
	}
	return candidate{}, l.noFreeWorker(used, now)
}

// An aheadRule picks a worker whose bound is ahead of the clock.
type aheadRule func(used []candidate, now int64) (candidate, bool)

// stepIn is the rule of a process that starts.
func (l *Lease) stepIn(used []candidate, now int64) (candidate, bool) {
	return l.withinAhead(used, now, func(candidate) bool { return true })
}

// standIn is the rule of one that goes on: it takes from nobody who is alive,
// or processes that are more than the workers would rob each other for ever.
func (l *Lease) standIn(used []candidate, now int64) (candidate, bool) {
	return l.withinAhead(used, now, l.silence.of(used, l.window))
}

// withinAhead prefers workers that were given back to those that pass the test.
func (l *Lease) withinAhead(used []candidate, now int64, test func(candidate) bool) (candidate, bool) {
	near := only(used, func(c candidate) bool { return c.record.Bound-now <= l.maxAhead.Milliseconds() })
	if released := only(near, candidate.released); len(released) > 0 {
		return slices.MinFunc(released, candidate.compare), true
	}
	if held := only(near, test); len(held) > 0 {
		return slices.MinFunc(held, candidate.compare), true
	}
	return candidate{}, false
}

func (c candidate) released() bool { return c.record.Owner == "" }

func only(candidates []candidate, test func(candidate) bool) []candidate {
	return slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !test(c) })
}
