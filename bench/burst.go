package main

import (
	"slices"

	"github.com/gormflake/gormflake/bench/internal/peers"
)

// burst measures Next on one goroutine while the sequence is no limit: 1,000
// IDs right after a millisecond has begun, lower quartile of the windows.
func burst(contenders []peers.Contender) experiment {
	const ids = 1000
	var windows []window
	for _, c := range contenders {
		windows = append(windows, window{c.Name, func() (float64, error) {
			atMillisecond()
			return timed(ids, func() error { return c.Loop(ids) })
		}})
	}
	return experiment{
		name: "next",
		run: func(e effort) (sample, error) {
			s, err := interleave(windows, e.windows(250), lowQuartile)
			if err != nil {
				return nil, err
			}
			for _, name := range []string{peers.Ours, peers.Leased} {
				if s[allocsOf(name)], err = allocationsOf(contenders, name); err != nil {
					return nil, err
				}
			}
			return s, nil
		},
		report: reportBurst(contenders),
	}
}

func reportBurst(contenders []peers.Contender) func(series) report {
	return func(s series) report {
		return report{
			figures: []figure{
				versus("Next, one goroutine, not at the cap", s, peers.Ours, peers.Bwmarrin, atMost(0.80, "×")),
				plain("Next, allocations per ID", s[allocsOf(peers.Ours)], atMost(0, "")),
				versus("Next, leased, one goroutine", s, peers.Leased, peers.Bwmarrin, atMost(0.80, "×")),
				plain("Next, leased, allocations per ID", s[allocsOf(peers.Leased)], atMost(0, "")),
			},
			tables: []table{perContender("Next, one goroutine, ns/ID", "ns/ID", contenders, s)},
		}
	}
}

func allocsOf(name string) string { return name + ", " + allocs }

func allocationsOf(contenders []peers.Contender, name string) (float64, error) {
	i := slices.IndexFunc(contenders, func(c peers.Contender) bool { return c.Name == name })
	return allocations(1000, func() error { return contenders[i].Loop(1) })
}
