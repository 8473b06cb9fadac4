package main

import "github.com/gormflake/gormflake/bench/internal/peers"

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
			s[allocs], err = allocations(1000, func() error { return contenders[0].Loop(1) })
			return s, err
		},
		report: reportBurst(contenders),
	}
}

func reportBurst(contenders []peers.Contender) func(series) report {
	return func(s series) report {
		return report{
			figures: []figure{
				versus("Next, one goroutine, not at the cap", s, peers.Ours, peers.Bwmarrin, atMost(0.80, "×")),
				plain("Next, allocations per ID", s[allocs], atMost(0, "")),
			},
			tables: []table{perContender("Next, one goroutine, ns/ID", "ns/ID", contenders, s)},
		}
	}
}
