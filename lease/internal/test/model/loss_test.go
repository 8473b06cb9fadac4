package model_test

import (
	"testing"

	"github.com/gormflake/gormflake/lease/internal/test/model"
)

// A store forgets writes that it has acknowledged, so that two processes may issue the same
// ticks. Each row is a kind of such a loss, with the number of seconds of ticks that are
// issued twice at worst, under a window of 60 s. docs/guarantees.md has the same table. The
// worst case that the model finds must be exactly the number of the row, because a row must
// promise neither too little nor too much.
func TestWhatALossRepeats(t *testing.T) {
	t.Parallel()
	// held: the worker was acquired before the writes that are lost.
	// together: the holder reaches the store as soon as the taker, which does not settle.
	held := func(l model.Loss) bool { return l.Started <= -l.Lost }
	together := func(l model.Loss) bool { return l.Cut == 0 && l.Settle == 0 }
	for _, row := range []struct {
		name string
		test func(model.Loss) bool
		want int // seconds
	}{
		{"nothing is lost", func(l model.Loss) bool { return l.Lost == 0 && held(l) }, 0},
		{"less than a third, and back before two thirds", func(l model.Loss) bool {
			return held(l) && together(l) && l.Lost < 20 && l.Lost+l.Down < 40
		}, 0},
		{"less than two thirds, and back at once, clocks right", func(l model.Loss) bool {
			return held(l) && together(l) && l.Lost < 40 && l.Down == 0 && l.Clock == 0 && !l.Ahead
		}, 1},
		{"less than two thirds, back later, clocks right", func(l model.Loss) bool {
			return held(l) && together(l) && l.Lost < 40 && l.Clock == 0 && !l.Ahead
		}, 1},
		{"less than two thirds, back later, a clock is behind", func(l model.Loss) bool {
			return held(l) && together(l) && l.Lost < 40 && l.Clock < 0
		}, 40},
		{"more, clocks right", func(l model.Loss) bool {
			return held(l) && together(l) && l.Clock == 0 && !l.Ahead
		}, 21},
		{"the worker was acquired in what is lost, clocks right", func(l model.Loss) bool {
			return !held(l) && together(l) && l.Clock == 0 && !l.Ahead
		}, 21},
		{"the holder is cut off from those who take, clocks right", func(l model.Loss) bool {
			return held(l) && l.Settle == 0 && l.Lost < 20 && l.Clock == 0 && !l.Ahead
		}, 20},
		{"less than two thirds, and the holder is cut off, clocks right", func(l model.Loss) bool {
			return held(l) && l.Settle == 0 && l.Lost < 40 && l.Clock == 0 && !l.Ahead
		}, 40},
		{"more, and the holder is cut off, clocks right", func(l model.Loss) bool {
			return l.Settle == 0 && l.Clock == 0 && !l.Ahead
		}, 60},
		{"less than two thirds, a clock is ahead", func(l model.Loss) bool {
			return held(l) && together(l) && l.Lost < 40 && l.Clock > 0 && !l.Ahead
		}, 1},
		{"more, a clock is ahead", func(l model.Loss) bool {
			return together(l) && l.Clock > 0 && !l.Ahead
		}, 20},
		{"all settle for a window, clocks right", func(l model.Loss) bool {
			return l.Settle >= 60 && l.Clock >= 0
		}, 0},
		{"all settle for ten seconds more, clocks are ten seconds off", func(l model.Loss) bool {
			return l.Settle >= 70 && l.Clock >= -10
		}, 0},
		{"all settle for a window, a clock is a second behind", func(l model.Loss) bool {
			return l.Settle == 60 && l.Clock == -1
		}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := model.Worst(row.test); got != row.want {
				t.Errorf("%d s of ticks are repeated at worst, want %d", got, row.want)
			}
		})
	}
}
