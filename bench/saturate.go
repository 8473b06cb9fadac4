package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
)

// crowd are the numbers of goroutines that saturate tries.
var crowd = []int{1, 8}

// saturate measures what a generator costs at its cap: goroutines ask for IDs
// as fast as they can for 400 ms, and the process's CPU time is read beside the
// clock. All generators of 12 bits are equally fast here, at 244 ns/ID; the
// question is whether they leave the CPU to the program while they wait.
func saturate(contenders []peers.Contender) experiment {
	var capped []peers.Contender
	for _, c := range contenders {
		if c.Capped {
			capped = append(capped, c)
		}
	}
	return experiment{
		name: "cap",
		run: func(e effort) (sample, error) {
			s := sample{}
			for _, c := range capped {
				for _, g := range crowd {
					if err := saturateOne(c, g, time.Duration(e.windows(400))*time.Millisecond, s); err != nil {
						return nil, fmt.Errorf("%s: %w", c.Name, err)
					}
				}
			}
			return s, nil
		},
		report: func(s series) report { return reportSaturate(capped, s) },
	}
}

func rateOf(name string, g int) string { return fmt.Sprintf("%s, %d, rate", name, g) }

func cpuOf(name string, g int) string { return fmt.Sprintf("%s, %d, cpu", name, g) }

func saturateOne(c peers.Contender, g int, d time.Duration, s sample) error {
	atMillisecond()
	before, err := cpuTime()
	if err != nil {
		return err
	}
	start := time.Now()
	ids, err := crowded(c, g, start.Add(d))
	elapsed := time.Since(start)
	if err != nil {
		return err
	}
	after, err := cpuTime()
	s[rateOf(c.Name, g)] = float64(ids) / elapsed.Seconds()
	s[cpuOf(c.Name, g)] = float64(after-before) / float64(ids)
	return err
}

// crowded makes IDs on g goroutines until the end, and returns their number.
func crowded(c peers.Contender, g int, end time.Time) (int, error) {
	const chunk = 256 // between looks at the clock, which then cost nothing
	var wg sync.WaitGroup
	counts, errs := make([]int, g), make([]error, g)
	for i := range g {
		wg.Go(func() {
			n := 0
			for time.Now().Before(end) && errs[i] == nil {
				errs[i] = c.Loop(chunk)
				n += chunk
			}
			counts[i] = n
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs...)
}

func reportSaturate(capped []peers.Contender, s series) report {
	var r report
	t := table{
		title:  "At the cap of 12 bits, 4,096,000 IDs/s",
		header: []string{"generator", "of the cap, G=1", "G=8", "CPU ns/ID, G=1", "G=8"},
	}
	for _, g := range crowd {
		share := scaled(s[rateOf(peers.Ours, g)], 100.0/peers.Cap)
		r.figures = append(r.figures,
			plain(fmt.Sprintf("at the 12-bit cap, G=%d, share of 4,096,000/s", g), share, atLeast(95, "%")).
				beside(s[rateOf(peers.Bwmarrin, g)], 100.0/peers.Cap),
			plain(fmt.Sprintf("at the 12-bit cap, G=%d, CPU per ID", g), s[cpuOf(peers.Ours, g)], atMost(55, "ns")).
				beside(s[cpuOf(peers.Bwmarrin, g)], 1))
	}
	for _, c := range capped {
		row := []string{c.Name}
		for _, g := range crowd {
			row = append(row, fmt.Sprintf("%.1f %%", stats.Median(s[rateOf(c.Name, g)])*100/peers.Cap))
		}
		for _, g := range crowd {
			row = append(row, fmt.Sprintf("%.0f", stats.Median(s[cpuOf(c.Name, g)])))
		}
		t.rows = append(t.rows, row)
	}
	r.tables = []table{t}
	return r
}
