package leasetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/gormflake/gormflake/lease"
)

// absentEqualsZero checks that a write that expects the zero record succeeds if there is no
// record, and is refused once there is a record.
func (s *suite) absentEqualsZero() {
	h := s.openHandle()
	h.mustLoadAll(nil)
	first := lease.Record{Bound: usualBound, Owner: "first"}
	h.mustSwap(7, lease.Record{}, first)
	h.mustRefuse(7, lease.Record{}, lease.Record{Bound: usualBound + 1, Owner: "second"}, first)
	h.mustLoadAll(map[int]lease.Record{7: first})
}

// absentDiffers checks that a record that does not exist differs from every record other
// than the zero record.
func (s *suite) absentDiffers() {
	h := s.openHandle()
	for _, from := range []lease.Record{
		{Bound: usualBound, Owner: "owner"},
		{Bound: usualBound},
		{Owner: "owner"},
		{Bound: 1},
		{Owner: " "},
		{Owner: "0"},
	} {
		h.mustRefuse(3, from, lease.Record{Bound: usualBound + 1, Owner: "new"}, lease.Record{})
	}
	h.mustLoadAll(nil)
}

// exactCompare tries owners that are similar to the owner of the record, because
// databases may compare text by case-folding collations, pad it with blanks, or read %
// and _ as patterns.
func (s *suite) exactCompare() {
	h := s.openHandle()
	current := lease.Record{Bound: usualBound, Owner: "Ab%_|x:1"}
	h.mustSwap(5, lease.Record{}, current)
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
		h.mustRefuse(5, from, lease.Record{Bound: usualBound + 5, Owner: "thief"}, current)
	}
	h.mustSwap(5, current, lease.Record{Bound: usualBound + 5, Owner: "heir"})
}

// overwriteChain replaces a record many times. Some replacements change only the owner, and one
// lowers the bound.
func (s *suite) overwriteChain() {
	h := s.openHandle()
	current := lease.Record{}
	for i := range int64(20) {
		next := lease.Record{Bound: usualBound + i/2, Owner: fmt.Sprint("owner", i%3)}
		h.mustSwap(1, current, next)
		current = next
	}
	h.mustSwap(1, current, lease.Record{Bound: usualBound - 1, Owner: current.Owner}) // a lower bound
	h.mustSwap(1, lease.Record{Bound: usualBound - 1, Owner: current.Owner}, lease.Record{Bound: usualBound - 1, Owner: "other"})
}

// sameAgain repeats writes whose new record is already in the store. The repeated call must not
// return true, because it has not written the record. A store that returns true here has only
// read the record, and a record that can be read may not be durable.
func (s *suite) sameAgain() {
	h := s.openHandle()
	first, second := lease.Record{Bound: usualBound, Owner: "first"}, lease.Record{Bound: usualBound + 1, Owner: "second"}
	h.mustSwap(2, lease.Record{}, first)
	h.mustNotSwap(2, lease.Record{}, first)
	h.mustSwap(2, first, second)
	h.mustNotSwap(2, first, second)
	released := lease.Record{Bound: usualBound + 1}
	h.mustSwap(2, second, released)
	h.mustNotSwap(2, second, released)
	h.mustLoad(2, released)
}

// mustNotSwap calls CompareAndSwap, whose new record to is already in the store, and expects
// false or an error.
func (h handle) mustNotSwap(key int, from, to lease.Record) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if swapped, err := h.CompareAndSwap(ctx, key, from, to); swapped {
		h.t.Errorf("CompareAndSwap(%d, %+v, %+v) = %v, %v on a record that is the new one already: want false or an error",
			key, from, to, swapped, err)
	}
}

// oldIsNew expects an error for a write whose old and new record are equal, because a reader
// could not see whether such a write has happened.
func (s *suite) oldIsNew() {
	h := s.openHandle()
	current := lease.Record{Bound: usualBound, Owner: "owner"}
	for _, present := range []lease.Record{{}, current} { // the record in the store, which is absent at first
		if present == current {
			h.mustSwap(2, lease.Record{}, current)
		}
		for _, record := range []lease.Record{{}, current, {Bound: usualBound + 1, Owner: "owner"}} {
			ctx, cancel := context.WithTimeout(s.Context(), s.patience)
			swapped, err := h.CompareAndSwap(ctx, 2, record, record)
			cancel()
			if swapped || err == nil {
				s.Errorf("CompareAndSwap(2, %+v, %+v) = %v, %v, want an error", record, record, swapped, err)
			}
			h.mustLoad(2, present)
		}
	}
}

// releaseAndTake frees a worker by a record without an owner and with a lower bound, as a person
// may do. The next holder must find exactly this record, and can replace it.
func (s *suite) releaseAndTake() {
	h := s.openHandle()
	held, free := lease.Record{Bound: usualBound, Owner: "holder"}, lease.Record{Bound: usualBound - 100}
	h.mustSwap(9, lease.Record{}, held)
	h.mustSwap(9, held, free)
	h.mustLoadAll(map[int]lease.Record{9: free})
	h.mustRefuse(9, lease.Record{}, held, free)
	h.mustRefuse(9, held, lease.Record{Bound: usualBound + 1, Owner: "holder"}, free)
	h.mustSwap(9, free, lease.Record{Bound: usualBound + 1, Owner: "next"})
}

// zeroWritten checks that a zero record that was written is treated as an absent record.
func (s *suite) zeroWritten() {
	h := s.openHandle()
	held := lease.Record{Bound: usualBound, Owner: "holder"}
	h.mustSwap(4, lease.Record{}, held)
	h.mustSwap(4, held, lease.Record{})
	h.mustRefuse(4, held, lease.Record{Bound: usualBound + 1}, lease.Record{})
	h.mustSwap(4, lease.Record{}, held)
}

// layoutKey writes the record with the key -1, under which a lease describes its layout,
// and checks that records of workers do not change it.
func (s *suite) layoutKey() {
	h := s.openHandle()
	layout := lease.Record{Owner: "41 bits of 1ms since 2010-11-04T01:42:54.657Z, 5 datacenter, 5 worker, 12 sequence"}
	h.mustSwap(-1, lease.Record{}, layout)
	h.mustRefuse(-1, lease.Record{}, lease.Record{Owner: "another"}, layout)
	h.mustSwap(0, lease.Record{}, lease.Record{Bound: usualBound, Owner: "zero"})
	h.mustSwap(1, lease.Record{}, lease.Record{Bound: usualBound, Owner: "one"})
	h.mustLoad(-1, layout)
}

// bounds checks that large and small bounds are kept and compared exactly.
func (s *suite) bounds() {
	h := s.openHandle()
	current := lease.Record{}
	for _, bound := range []int64{
		0, 1, 9, 10, 999_999_999_999, usualBound,
		math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 + 1,
		1<<53 - 1, 1 << 53, 1<<53 + 1, // values at which a double loses the last bit
		math.MaxInt64 - 1, math.MaxInt64,
	} {
		next := lease.Record{Bound: bound, Owner: "owner"}
		h.mustSwap(6, current, next)
		h.mustRefuse(6, lease.Record{Bound: bound - 1, Owner: "owner"}, lease.Record{Bound: 5, Owner: "thief"}, next)
		current = next
	}
}

// owners checks that the store keeps every owner of up to 128 printable ASCII characters
// exactly. Some of these owners have a special meaning in SQL, a path, a pattern or a format.
func (s *suite) owners() {
	h := s.openHandle()
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
		h.mustSwap(8, current, next)
		current = next
	}
}

// largeKeys writes records with keys of up to 23 bits. The keys of the default layout have 10.
func (s *suite) largeKeys() {
	h := s.openHandle()
	want := map[int]lease.Record{}
	for _, key := range []int{0, 1, 10, 100, 1023, 1024, math.MaxUint16 + 1, 1<<22 - 1, 1 << 22} {
		want[key] = lease.Record{Bound: usualBound + int64(key), Owner: fmt.Sprint("owner", key)}
		h.mustSwap(key, lease.Record{}, want[key])
	}
	h.mustLoadAll(want)
}

// manyWorkers writes a record for each of the 1,024 workers of the default layout, concurrently
// through several handles, and then expects all of them through each handle.
func (s *suite) manyWorkers() {
	const workers, writers = 1024, 16
	handles := s.openHandles(4)
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
		h.mustLoadAll(want)
	}
}

// loadedCopy changes maps that Load has returned. The records of the store must stay the same.
func (s *suite) loadedCopy() {
	h := s.openHandle()
	current := lease.Record{Bound: usualBound, Owner: "owner"}
	h.mustSwap(1, lease.Record{}, current)
	h.load()[1] = lease.Record{}
	delete(h.load(), 1)
	h.mustLoad(1, current)
}

// namespacesApart writes to namespaces with similar names, for example a prefix, or other
// case. Their records must not mix.
func (s *suite) namespacesApart() {
	names := []string{s.namespace, s.namespace + "1", s.namespace + "-1", s.namespace[:len(s.namespace)-1], strings.ToUpper(s.namespace)}
	var handles []handle
	for i, name := range names {
		handles = append(handles, s.openOn(name))
		handles[i].mustLoadAll(nil)
		handles[i].mustSwap(1, lease.Record{}, lease.Record{Bound: usualBound, Owner: name})
	}
	for i, h := range handles {
		h.mustSwap(10+i, lease.Record{}, lease.Record{Bound: usualBound, Owner: names[i]})
	}
	for i, h := range handles {
		current := lease.Record{Bound: usualBound, Owner: names[i]}
		h.mustLoadAll(map[int]lease.Record{1: current, 10 + i: current})
	}
}

// visible writes through one handle, and immediately reads the record through a second handle.
// The next write goes through the second handle, and expects the record that it has just read.
func (s *suite) visible() {
	handles := s.openHandles(3)
	current := lease.Record{}
	for i := range 30 {
		writer, reader := handles[i%3], handles[(i+1)%3]
		next := lease.Record{Bound: usualBound + int64(i), Owner: fmt.Sprint("owner", i)}
		if !writer.swap(1, current, next) {
			s.Fatalf("CompareAndSwap from %+v = false on another handle than the one that wrote it", current)
		}
		reader.mustLoad(1, next)
		current = next
	}
	s.openHandle().mustLoad(1, current) // through a handle that is opened afterwards
}
