package main

import (
	"context"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// wide has a sequence of 20 bits, a million IDs per millisecond: more than a
// window takes, so that what is measured is the code and not its wait.
func wide() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, 2, 20
	return l
}

const (
	fill1000 = "Fill, 1,000 at a time"
	fill100  = "Fill, 100 at a time"
	nextLoop = "loop over Next"
	bwLoop   = "loop over " + peers.Bwmarrin
)

// batch measures Fill: blocks of IDs right after a millisecond has begun,
// on a layout whose sequence is no limit, beside loops that make 1,000.
func batch() (experiment, error) {
	gen, err := snowflake.New(snowflake.Static(0, 1), snowflake.WithLayout(wide()))
	if err != nil {
		return experiment{}, err
	}
	node, err := bwmarrin.NewNode(2)
	if err != nil {
		return experiment{}, err
	}
	windows := []window{
		fillWindow(fill1000, gen, 200, 1000),
		fillWindow(fill100, gen, 500, 100),
		nextWindow(gen),
		bwmarrinWindow(node),
	}
	return experiment{
		name:   "fill",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(250), lowQuartile) },
		report: reportBatch,
	}, nil
}

func fillWindow(name string, gen *snowflake.Generator, blocks, n int) window {
	ctx, dst := context.Background(), make([]types.ID, n)
	return window{name, func() (float64, error) {
		atMillisecond()
		return timed(blocks*n, func() error {
			for range blocks {
				if err := gen.Fill(ctx, dst); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func nextWindow(gen *snowflake.Generator) window {
	ctx, dst := context.Background(), make([]types.ID, 1000)
	return window{nextLoop, func() (float64, error) {
		atMillisecond()
		return timed(len(dst), func() (err error) {
			for i := range dst {
				if dst[i], err = gen.Next(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func bwmarrinWindow(node *bwmarrin.Node) window {
	dst := make([]bwmarrin.ID, 1000)
	return window{bwLoop, func() (float64, error) {
		atMillisecond()
		return timed(len(dst), func() error {
			for i := range dst {
				dst[i] = node.Generate()
			}
			return nil
		})
	}}
}

func reportBatch(s series) report {
	return report{
		figures: []figure{
			plain("Fill(1000), wide layout, per ID", s[fill1000], atMost(0.6, "ns")),
			faster("Fill(1000), times faster than a loop", s, fill1000, bwLoop, atLeast(75, "×")),
		},
		tables: []table{perName("Batches, ns/ID", "ns/ID", []string{fill1000, fill100, nextLoop, bwLoop}, s)},
	}
}
