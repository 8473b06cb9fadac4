package model

import "math"

// A Loss is a store that crashes at second zero and forgets what it has
// acknowledged to a holder whose clock is right. Times are in seconds.
type Loss struct {
	Window int // that each write reserves; the holder writes every third of it
	React  int // from when the holder could write until it has stopped

	Last    int  // when the holder wrote before the crash, at most zero
	Started int  // when it acquired the worker, at most Last and a multiple of thirds before
	Lost    int  // writes of so many seconds are gone
	Down    int  // how long nobody reaches the store
	Cut     int  // how much longer the holder does not
	Clock   int  // how far the taker's is ahead; it is behind if negative
	Ahead   bool // the taker has WithMaxAhead
	Settle  int  // of the taker
}

// Repeated is how many seconds of ticks are issued twice at worst: those that the
// holder issues before it stops, from the one on from which the taker issues.
func (l Loss) Repeated() int {
	bound, lost := l.shown()
	if !lost {
		return 0
	}
	begin := l.taken(bound) + l.Clock + l.Settle
	return max(0, min(l.stops(), l.Last+l.Window)-max(begin, bound))
}

// shown is the bound that the store shows after the crash, and whether that is not
// the one that it has acknowledged last. Of a worker that was acquired after what
// the store has kept, it shows nothing: it is free.
func (l Loss) shown() (bound int, lost bool) {
	kept := l.Last
	for kept > -l.Lost && kept >= l.Started {
		kept -= l.Window / 3
	}
	if kept < l.Started {
		return l.Started, true
	}
	return kept + l.Window, kept < l.Last
}

// taken is when a taker that waits for it has the worker.
func (l Loss) taken(bound int) int {
	if l.Ahead {
		return l.Down
	}
	return max(l.Down, bound-l.Clock)
}

// stops is when the holder issues nothing more: its next write finds what has
// happened. While the store does not answer it tries all the time.
func (l Loss) stops() int {
	return max(l.Last+l.Window/3, l.Down+l.Cut) + l.React
}

// Worst is the most that is repeated in any of the losses for which test is true,
// with a window of 60 s and a reaction of 1 s: times about a third of the window
// apart, and every moment between two writes.
func Worst(test func(Loss) bool) int {
	worst := math.MinInt
	for _, started := range []int{0, 20, 40, 60, 1000} {
		for last := range 20 {
			for _, lost := range []int{0, 1, 10, 19, 20, 21, 39, 40, 41, 60, 70} {
				for _, down := range []int{0, 1, 10, 19, 20, 21, 38, 39, 40, 41, 60, 70} {
					worst = max(worst, worstTaker(Loss{
						Window: 60, React: 1, Last: -last, Started: -last - started, Lost: lost, Down: down,
					}, test))
				}
			}
		}
	}
	return worst
}

func worstTaker(l Loss, test func(Loss) bool) int {
	worst := math.MinInt
	for _, l.Cut = range []int{0, 1, 30, 100} {
		for _, l.Clock = range []int{-100, -10, -1, 0, 1, 10, 100} {
			for _, l.Ahead = range []bool{false, true} {
				for _, l.Settle = range []int{0, 30, 60, 61, 70} {
					if test(l) {
						worst = max(worst, l.Repeated())
					}
				}
			}
		}
	}
	return worst
}
