package sqllease_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// errInjected is the error of a statement that failNth makes fail.
var errInjected = errors.New("injected")

// failNth makes the nth statement from now on fail before it reaches the database. The
// function sent returns the number of statements that the store has sent since.
func (p *proxy) failNth(n int) (sent func() int) {
	count := 0
	p.loseServers(func(int) error {
		if count++; count == n {
			return errInjected
		}
		return nil
	})
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return count
	}
}

// The first call of a store sends several statements to check the server and the table.
// Each of them fails once, in a store of its own. The call must return the error or
// complete its work, and the next call must not rely on a check that has failed.
func TestFirstUseFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		failures := 0
		for n := 1; ; n++ {
			p := &proxy{}
			store := newStore(proxied(t, db, p))
			sent := p.failNth(n)
			written, err := store.CompareAndSwap(within(t, patience), n, lease.Record{}, first)
			if written != (err == nil) || err != nil && !errors.Is(err, errInjected) {
				t.Fatalf("statement %d fails: CompareAndSwap = %v, %v, want its error", n, written, err)
			}
			if sent() < n { // the call sends fewer statements, so that each of them has failed once
				break
			}
			if err != nil {
				failures++
				swap(t, store, n, lease.Record{}, first, true)
			}
			if got := load(t, store)[n]; got != first {
				t.Errorf("statement %d failed: the record is %+v, want %+v", n, got, first)
			}
		}
		if failures < 4 {
			t.Errorf("%d statements failed, want those that check the server, the table and its settings", failures)
		}
	})
}
