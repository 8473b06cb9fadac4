package main

import (
	"context"
	"fmt"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const (
	lagged    = "WithLag(10ms)"
	unlagged  = "no lag"
	burstSize = 40_000
)

// lag measures a burst of 40,000 IDs, ten milliseconds' worth at 12 bits, after
// a pause in which the lag could build up. Each burst is checked: its IDs rise,
// and none is ahead of the clock that was read right after it was made.
func lag() (experiment, error) {
	with, err := snowflake.New(snowflake.Static(0, 2), snowflake.WithLag(10*time.Millisecond))
	if err != nil {
		return experiment{}, err
	}
	without, err := snowflake.New(snowflake.Static(0, 3))
	if err != nil {
		return experiment{}, err
	}
	node, err := bwmarrin.NewNode(3)
	if err != nil {
		return experiment{}, err
	}
	ctx := context.Background()
	windows := []window{
		lagWindow(lagged, with.Layout(), nexts(ctx, with)),
		lagWindow(unlagged, without.Layout(), nexts(ctx, without)),
		lagWindow(peers.Bwmarrin, snowflake.TwitterLayout(), func(ids []types.ID) error {
			for i := range ids {
				ids[i] = types.ID(node.Generate())
			}
			return nil
		}),
	}
	return experiment{
		name:   "lag",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(20), 0.5) },
		report: reportLag,
	}, nil
}

// nexts makes IDs one by one.
func nexts(ctx context.Context, gen *snowflake.Generator) func([]types.ID) error {
	return func(ids []types.ID) (err error) {
		for i := range ids {
			if ids[i], err = gen.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// A mark is the clock after a stretch of a burst.
type mark struct {
	ids int
	at  time.Time
}

// stretch is how many IDs lie between two looks at the clock.
const stretch = 500

func lagWindow(name string, layout snowflake.Layout, fill func([]types.ID) error) window {
	ids, marks := make([]types.ID, burstSize), make([]mark, 0, burstSize/stretch)
	return window{name, func() (float64, error) {
		time.Sleep(15 * time.Millisecond)
		marks = marks[:0]
		ns, err := timed(1, func() error {
			for i := 0; i < burstSize; i += stretch {
				if err := fill(ids[i : i+stretch]); err != nil {
					return err
				}
				marks = append(marks, mark{i + stretch, time.Now()})
			}
			return nil
		})
		if err == nil {
			err = inOrder(layout, ids, marks)
		}
		return ns, err
	}}
}

// inOrder checks each stretch by its last ID, since IDs rise.
func inOrder(layout snowflake.Layout, ids []types.ID, marks []mark) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return fmt.Errorf("ID %d of a burst is %v, after %v", i, ids[i], ids[i-1])
		}
	}
	for _, m := range marks {
		if lead := layout.Time(ids[m.ids-1]).Sub(m.at); lead > 0 {
			return fmt.Errorf("ID %d of a burst is %v ahead of the clock", m.ids-1, lead)
		}
	}
	return nil
}

func reportLag(s series) report {
	burst := plain("burst of 40,000 with WithLag(10ms), none ahead of the clock", scaled(s[lagged], 1e-6), atMost(1.6, "ms")).
		beside(s[peers.Bwmarrin], 1e-6)
	return report{
		figures: []figure{burst},
		tables:  []table{perName("Burst of 40,000, ns", "ns", []string{lagged, unlagged, peers.Bwmarrin}, s)},
	}
}
