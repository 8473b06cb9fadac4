package service

import "time"

// noteEvery is how often trouble that many requests meet is logged.
const noteEvery = 10 * time.Second

// note logs the first of many errors, and then one from time to time.
func (s *service) note(what string, err error) {
	if s.noted.Swap(true) {
		return
	}
	time.AfterFunc(noteEvery, func() { s.noted.Store(false) })
	s.Log.Error(what, "error", err)
}
