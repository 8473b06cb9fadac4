package leasetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/gormflake/gormflake/lease"
)

// absentEqualsZero writes a record that does not exist yet, which equals the zero record.
func (s *suite) absentEqualsZero() {
	h := s.handle()
	h.holdsAll(nil)
	first := lease.Record{Bound: usualBound, Owner: "first"}
	h.takes(7, lease.Record{}, first)
	h.refuses(7, lease.Record{}, lease.Record{Bound: usualBound + 1, Owner: "second"}, first)
	h.holdsAll(map[int]lease.Record{7: first})
}

// absentDiffers checks that a record that does not exist differs from every record other
// than the zero record.
func (s *suite) absentDiffers() {
	h := s.handle()
	for _, from := range []lease.Record{
		{Bound: usualBound, Owner: "owner"},
		{Bound: usualBound},
		{Owner: "owner"},
		{Bound: 1},
		{Owner: " "},
		{Owner: "0"},
	} {
		h.refuses(3, from, lease.Record{Bound: usualBound + 1, Owner: "new"}, lease.Record{})
	}
	h.holdsAll(nil)
}

// exactCompare tries owners that are similar to the owner of the record, because
// databases may compare text by case-folding collations, pad it with blanks, or read %
// and _ as patterns.
func (s *suite) exactCompare() {
	h := s.handle()
	current := lease.Record{Bound: usualBound, Owner: "Ab%_|x:1"}
	h.takes(5, lease.Record{}, current)
	for _, from := range []lease.Record{
		{},
		{Bound: usualBound + 1, Owner: current.Owner},
		{Bound: usualBound - 1, Owner: current.Owner},
		{Bound: 0, Owner: current.Owner},
		{Bound: -usualBound, Owner: current.Owner},
		{Bound: usualBound, Owner: ""},
		{Bound: usualBound, Owner: "Ab%_|x:2"},
		{Bound: usualBound, Owner: "ab%_|x:1"},
		{Bound: usualBound, Owner: "AB%_|X:1"},
		{Bound: usualBound, Owner: "Ab%_|x:1 "},
		{Bound: usualBound, Owner: " Ab%_|x:1"},
		{Bound: usualBound, Owner: "Ab%_|x:"},
		{Bound: usualBound, Owner: "Ab%_|x:11"},
		{Bound: usualBound, Owner: "Ab%"},
		{Bound: usualBound, Owner: "%"},
		{Bound: usualBound, Owner: "________"},
		{Bound: usualBound, Owner: "x:1"},
	} {
		h.refuses(5, from, lease.Record{Bound: usualBound + 5, Owner: "thief"}, current)
	}
	h.takes(5, current, lease.Record{Bound: usualBound + 5, Owner: "heir"})
}

// overwriteChain replaces a record many times. Some replacements change only the owner or
// lower the bound.
func (s *suite) overwriteChain() {
	h := s.handle()
	current := lease.Record{}
	for i := range int64(20) {
		next := lease.Record{Bound: usualBound + i/2, Owner: fmt.Sprint("owner", i%3)}
		h.takes(1, current, next)
		current = next
	}
	h.takes(1, current, lease.Record{Bound: usualBound - 1, Owner: current.Owner}) // a lower bound too
	h.takes(1, lease.Record{Bound: usualBound - 1, Owner: current.Owner}, lease.Record{Bound: usualBound - 1, Owner: "other"})
}

// sameAgain repeats writes whose new record is already there. The repeated call has not
// written the record. A store that returns true has only read it, and a record that can be
// read may not be durable.
func (s *suite) sameAgain() {
	h := s.handle()
	first, second := lease.Record{Bound: usualBound, Owner: "first"}, lease.Record{Bound: usualBound + 1, Owner: "second"}
	h.takes(2, lease.Record{}, first)
	h.writesNothing(2, lease.Record{}, first)
	h.takes(2, first, second)
	h.writesNothing(2, first, second)
	released := lease.Record{Bound: usualBound + 1}
	h.takes(2, second, released)
	h.writesNothing(2, second, released)
	h.holds(2, released)
}

// writesNothing expects false or an error.
func (h handle) writesNothing(key int, from, to lease.Record) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if swapped, err := h.CompareAndSwap(ctx, key, from, to); swapped {
		h.t.Errorf("CompareAndSwap(%d, %+v, %+v) = %v, %v on a record that is the new one already: want false or an error",
			key, from, to, swapped, err)
	}
}

// oldIsNew expects an error for a write that changes nothing, because its outcome could
// not be read.
func (s *suite) oldIsNew() {
	h := s.handle()
	current := lease.Record{Bound: usualBound, Owner: "owner"}
	for _, present := range []lease.Record{{}, current} { // the record in the store, which is absent at first
		if present == current {
			h.takes(2, lease.Record{}, current)
		}
		for _, record := range []lease.Record{{}, current, {Bound: usualBound + 1, Owner: "owner"}} {
			ctx, cancel := context.WithTimeout(s.Context(), s.patience)
			swapped, err := h.CompareAndSwap(ctx, 2, record, record)
			cancel()
			if swapped || err == nil {
				s.Errorf("CompareAndSwap(2, %+v, %+v) = %v, %v, want an error", record, record, swapped, err)
			}
			h.holds(2, present)
		}
	}
}

// releaseAndTake frees a worker, as a lease does, by a record without an owner and with a
// lower bound. The next holder must find exactly this record.
func (s *suite) releaseAndTake() {
	h := s.handle()
	held, free := lease.Record{Bound: usualBound, Owner: "holder"}, lease.Record{Bound: usualBound - 100}
	h.takes(9, lease.Record{}, held)
	h.takes(9, held, free)
	h.holdsAll(map[int]lease.Record{9: free})
	h.refuses(9, lease.Record{}, held, free)
	h.refuses(9, held, lease.Record{Bound: usualBound + 1, Owner: "holder"}, free)
	h.takes(9, free, lease.Record{Bound: usualBound + 1, Owner: "next"})
}

// zeroWritten checks that a zero record that was written equals an absent record.
func (s *suite) zeroWritten() {
	h := s.handle()
	held := lease.Record{Bound: usualBound, Owner: "holder"}
	h.takes(4, lease.Record{}, held)
	h.takes(4, held, lease.Record{})
	h.refuses(4, held, lease.Record{Bound: usualBound + 1}, lease.Record{})
	h.takes(4, lease.Record{}, held)
}

// layoutKey writes the record with the key -1, under which a lease describes its layout,
// and checks that records of workers do not change it.
func (s *suite) layoutKey() {
	h := s.handle()
	layout := lease.Record{Owner: "41 bits of 1ms since 2010-11-04T01:42:54.657Z, 5 datacenter, 5 worker, 12 sequence"}
	h.takes(-1, lease.Record{}, layout)
	h.refuses(-1, lease.Record{}, lease.Record{Owner: "another"}, layout)
	h.takes(0, lease.Record{}, lease.Record{Bound: usualBound, Owner: "zero"})
	h.takes(1, lease.Record{}, lease.Record{Bound: usualBound, Owner: "one"})
	h.holds(-1, layout)
}

// bounds checks that large and small bounds are kept and compared exactly.
func (s *suite) bounds() {
	h := s.handle()
	current := lease.Record{}
	for _, bound := range []int64{
		0, 1, 9, 10, 999_999_999_999, usualBound,
		math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 + 1,
		1<<53 - 1, 1 << 53, 1<<53 + 1, // values at which a double loses the last bit
		math.MaxInt64 - 1, math.MaxInt64,
	} {
		next := lease.Record{Bound: bound, Owner: "owner"}
		h.takes(6, current, next)
		h.refuses(6, lease.Record{Bound: bound - 1, Owner: "owner"}, lease.Record{Bound: 5, Owner: "thief"}, next)
		current = next
	}
}

// owners checks that owners of any printable ASCII are kept exactly, up to 128 characters.
// Some would mean something else in SQL, a path, a pattern or a format.
func (s *suite) owners() {
	h := s.handle()
	var printable strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		printable.WriteByte(c)
	}
	current := lease.Record{}
	for _, owner := range []string{
		printable.String() + strings.Repeat("x", 128-printable.Len()),
		strings.Repeat("|", 128),
		strings.Repeat("'", 128),
		strings.Repeat(`\`, 128),
		"a|b", "|", "1|2|3", "12|", "|12",
		`"`, `'`, "`", `\`, `\0`, `\n`, `\'`, `''`, "%", "%s%d", "_", "?", "$1", ":a", "@p1", "{}", "[1]", "null", "NULL", "nil", "0", "-1",
		" ", "a ", " a", "--", "/*", ";", "#", "a/b", "../a", "&lt;", "%00", "~",
	} {
		next := lease.Record{Bound: usualBound, Owner: owner}
		h.takes(8, current, next)
		current = next
	}
}

// largeKeys writes keys of workers up to 22 bits, the most that a layout can have.
func (s *suite) largeKeys() {
	h := s.handle()
	want := map[int]lease.Record{}
	for _, key := range []int{0, 1, 10, 100, 1023, 1024, math.MaxUint16 + 1, 1<<22 - 1, 1 << 22} {
		want[key] = lease.Record{Bound: usualBound + int64(key), Owner: fmt.Sprint("owner", key)}
		h.takes(key, lease.Record{}, want[key])
	}
	h.holdsAll(want)
}

// manyWorkers writes every worker of the default layout, concurrently through several
// handles.
func (s *suite) manyWorkers() {
	const workers, writers = 1024, 16
	handles := s.handles(4)
	want := map[int]lease.Record{}
	for key := range workers {
		want[key] = lease.Record{Bound: usualBound + int64(key), Owner: fmt.Sprint("owner", key)}
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			for key := writer; key < workers && ctx.Err() == nil; key += writers {
				if err := writeUntilDone(ctx, handles[writer%len(handles)], key, lease.Record{}, want[key]); err != nil && ctx.Err() == nil {
					s.Errorf("key %d: %v", key, err)
					cancel() // a store that fails for one key probably fails for all keys
				}
			}
		})
	}
	wg.Wait()
	if s.Failed() {
		return
	}
	for _, h := range handles {
		h.holdsAll(want)
	}
}

// loadedCopy changes maps that Load has returned, which must not change the records.
func (s *suite) loadedCopy() {
	h := s.handle()
	current := lease.Record{Bound: usualBound, Owner: "owner"}
	h.takes(1, lease.Record{}, current)
	h.load()[1] = lease.Record{}
	delete(h.load(), 1)
	h.holds(1, current)
}

// namespacesApart writes to namespaces with similar names, for example a prefix, or other
// case. Their records must not mix.
func (s *suite) namespacesApart() {
	names := []string{s.namespace, s.namespace + "1", s.namespace + "-1", s.namespace[:len(s.namespace)-1], strings.ToUpper(s.namespace)}
	var handles []handle
	for i, name := range names {
		handles = append(handles, s.handleOn(name))
		handles[i].holdsAll(nil)
		handles[i].takes(1, lease.Record{}, lease.Record{Bound: usualBound, Owner: name})
	}
	for i, h := range handles {
		h.takes(10+i, lease.Record{}, lease.Record{Bound: usualBound, Owner: names[i]})
	}
	for i, h := range handles {
		current := lease.Record{Bound: usualBound, Owner: names[i]}
		h.holdsAll(map[int]lease.Record{1: current, 10 + i: current})
	}
}

// visible writes through one handle and reads through another at once.
func (s *suite) visible() {
	handles := s.handles(3)
	current := lease.Record{}
	for i := range 30 {
		writer, reader := handles[i%3], handles[(i+1)%3]
		next := lease.Record{Bound: usualBound + int64(i), Owner: fmt.Sprint("owner", i)}
		if !writer.swap(1, current, next) {
			s.Fatalf("CompareAndSwap from %+v = false on another handle than the one that wrote it", current)
		}
		reader.holds(1, next)
		current = next
	}
	s.handle().holds(1, current) // through a handle that is opened afterwards
}
