package service

import (
	"sync/atomic"
	"time"
)

// noteEvery is how often trouble that many requests meet is logged.
const noteEvery = 10 * time.Second

// A moment is when something was done last.
type moment struct{ nanoseconds atomic.Int64 }

// due reports whether it is time again, to one caller.
func (m *moment) due(every time.Duration) bool {
	last, now := m.nanoseconds.Load(), time.Now().UnixNano()
	return now-last >= int64(every) && m.nanoseconds.CompareAndSwap(last, now)
}

// note logs the first of many errors, and then one from time to time.
func (s *service) note(what string, err error) {
	if s.noted.due(noteEvery) {
		s.Log.Error(what, "error", err)
	}
}
