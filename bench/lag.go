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
		lagWindow(lagged, with.Layout(), func() (types.ID, error) { return with.Next(ctx) }),
		lagWindow(unlagged, without.Layout(), func() (types.ID, error) { return without.Next(ctx) }),
		lagWindow(peers.Bwmarrin, snowflake.TwitterLayout(), func() (types.ID, error) { return types.ID(node.Generate()), nil }),
	}
	return experiment{
		name:   "lag",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(20), 0.5) },
		report: reportLag,
	}, nil
}

// A mark is the clock after a stretch of a burst.
type mark struct {
	ids int
	at  time.Time
}

func lagWindow(name string, layout snowflake.Layout, next func() (types.ID, error)) window {
	ids, marks := make([]types.ID, burstSize), make([]mark, 0, burstSize)
	return window{name, func() (float64, error) {
		time.Sleep(15 * time.Millisecond)
		marks = marks[:0]
		ns, err := timed(1, func() (err error) {
			for i := range ids {
				if ids[i], err = next(); err != nil {
					return err
				}
				if i%500 == 499 {
					marks = append(marks, mark{i + 1, time.Now()})
				}
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
