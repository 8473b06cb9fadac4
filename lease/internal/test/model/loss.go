package model

import "math"

// A Loss describes a store that crashes at second zero and forgets writes that it has
// acknowledged to a holder whose clock is right. Times are in seconds.
type Loss struct {
	Window int // window of each write; the holder writes every third of it
	React  int // time that the holder needs to stop, once its write is due and the store answers it

	Last    int  // time of the holder's last write before the crash, at most zero
	Started int  // time when it acquired the worker: Last, or some thirds of a window before Last
	Lost    int  // writes of the last Lost seconds are gone
	Down    int  // how long no process reaches the store
	Cut     int  // how much longer the holder alone does not reach the store
	Clock   int  // how far the taker's clock is ahead; behind if negative
	Ahead   bool // the taker has WithMaxAhead
	Settle  int  // WithSettle of the taker
}

// Repeated returns how many seconds of ticks are issued twice at worst. These are the ticks
// from the first tick of the taker until the holder stops or reaches its bound.
func (l Loss) Repeated() int {
	bound, lost := l.boundAfterCrash()
	if !lost {
		return 0
	}
	begin := l.takeTime(bound) + l.Clock + l.Settle // on the taker's clock
	return max(0, min(l.stopTime(), l.Last+l.Window)-max(begin, bound))
}

// boundAfterCrash returns the bound that the store shows after the crash. lost is true if the
// store has forgotten the last acknowledged bound. If it has forgotten all writes of the
// holder, the worker is free, with a bound of at most the time at which the holder acquired it.
func (l Loss) boundAfterCrash() (bound int, lost bool) {
	kept := l.Last // the time of the last write that the store has kept
	for kept > -l.Lost && kept >= l.Started {
		kept -= l.Window / 3
	}
	if kept < l.Started {
		return l.Started, true
	}
	return kept + l.Window, kept < l.Last
}

// takeTime returns the time at which the taker acquires the worker. The taker waits until the
// store answers and the taker's clock has passed the bound. With WithMaxAhead it does not wait
// for its clock.
func (l Loss) takeTime(bound int) int {
	if l.Ahead {
		return l.Down
	}
	return max(l.Down, bound-l.Clock)
}

// stopTime returns when the holder stops issuing, because its next write finds that it has
// lost the worker. While the store does not answer, the holder tries continuously.
func (l Loss) stopTime() int {
	return max(l.Last+l.Window/3, l.Down+l.Cut) + l.React
}

// Worst returns the largest Repeated of all losses that pass test, with a window of 60
// s and a reaction of 1 s. It tries times close to multiples of a third of the window, and
// crashes at every second between two writes.
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

// worstTaker returns the largest Repeated of the loss l with every taker that Worst tries.
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
