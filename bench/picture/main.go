// Command picture draws the bar charts of the README from stored output of bench.
//
//	go run . <figures.txt >../../docs/images/figures.svg
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strings"

	"github.com/gormflake/gormflake/bench/internal/stats"
)

// chart compares the times of a few benchmarks, the first of which is gormflake's.
type chart struct {
	title string
	bars  []bar
}

// bar is a benchmark of a chart.
type bar struct {
	label, benchmark string // the benchmark's name in the figures, without the word Benchmark
	class            string // the class in style, "ours" for gormflake's bar
}

// charts are drawn one below the other, in this order.
var charts = []chart{
	{"One ID for a request, every millisecond", []bar{
		{"gormflake", "Request/cold/every=1ms/peer=gormflake", "ours"},
		{"bwmarrin/snowflake", "Request/cold/every=1ms/peer=bwmarrin", ""},
	}},
	{"IDs on two processors at once, per ID", []bar{
		{"gormflake, leased", "NextParallel/peer=leased", "ours"},
		{"bwmarrin/snowflake", "NextParallel/peer=bwmarrin", ""},
	}},
	{"1,000 orders of 10 lines, PostgreSQL", []bar{
		{"gormflake, COPY", "Orders/db=postgres/fk=off/peer=copy", "ours"},
		{"gormflake, two batches", "Orders/db=postgres/fk=off/peer=batches", "ours"},
		{"auto-increment, order by order", "Orders/db=postgres/fk=off/peer=auto", ""},
	}},
	{"A writer's longest transaction while a million rows move online, PostgreSQL", []bar{
		{"during the move", "Online/writer=moved", "ours"},
		{"without it", "Online/writer=idle", ""},
	}},
}

func main() {
	figures, err := read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if err := draw(os.Stdout, figures); err != nil {
		log.Fatal(err)
	}
}

// read returns the times of each benchmark in nanoseconds, by the name of the benchmark. It
// reads lines such as
//
//	BenchmarkNextParallel/peer=leased 1 49.5 ns/op
//
// and ignores lines that do not begin with Benchmark.
func read(r io.Reader) (map[string][]float64, error) {
	figures := map[string][]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, isBenchmark := strings.CutPrefix(lines.Text(), "Benchmark")
		if !isBenchmark {
			continue
		}
		var n int // the number of iterations, which does not matter
		var ns float64
		if _, err := fmt.Sscanf(name, "%s %d %f ns/op", &name, &n, &ns); err != nil {
			return nil, fmt.Errorf("picture: %q: %w", lines.Text(), err)
		}
		figures[name] = append(figures[name], ns)
	}
	return figures, lines.Err()
}

// Sizes in the picture, in pixels.
const (
	width      = 880
	barStart   = 250 // the left end of all bars; their labels end before it
	barWidth   = 520 // width of the longest bar in its chart
	lineHeight = 24
)

// style is the style sheet of the picture, with colours for a light and for a dark screen.
const style = `<style>
text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #191d24 } .title { font-weight: 600 }
.label { text-anchor: end } rect { fill: #b6bdc9 } .ours { fill: #1c58b3 }
@media (prefers-color-scheme: dark) { text { fill: #e6e9ee } rect { fill: #4a5362 } .ours { fill: #8fb8fa } }
</style>
`

// draw writes the picture as SVG. The length of a bar is the median of the benchmark's times.
// Each chart has its own scale, in which the longest bar is as long as barWidth.
func draw(w io.Writer, figures map[string][]float64) error {
	var body strings.Builder
	y := 0 // the base line of the present text
	for _, c := range charts {
		y += lineHeight
		fmt.Fprintf(&body, "<text class=\"title\" x=\"8\" y=\"%d\">%s</text>\n", y, c.title)
		longest := 0.0
		for _, b := range c.bars {
			longest = max(longest, stats.Median(figures[b.benchmark]))
		}
		for _, b := range c.bars {
			ns := stats.Median(figures[b.benchmark])
			if math.IsNaN(ns) { // the median of no times
				return fmt.Errorf("picture: no figure of %s", b.benchmark)
			}
			y += lineHeight
			drawBar(&body, b, y, ns, longest)
		}
		y += lineHeight / 2
	}
	_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" aria-label=\"Figures, less is better\">\n%s%s</svg>\n",
		width, y, style, body.String())
	return err
}

// drawBar writes the bar of a benchmark that took ns nanoseconds, with its label on the left
// and its time on the right. y is the base line of both texts. The longest bar of the chart
// stands for the time longest, in nanoseconds.
func drawBar(w *strings.Builder, b bar, y int, ns, longest float64) {
	length := barWidth * ns / longest
	fmt.Fprintf(w, "<text class=\"label\" x=\"%d\" y=\"%d\">%s</text>", barStart-8, y, b.label)
	fmt.Fprintf(w, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"16\"/>", b.class, barStart, y-13, length)
	fmt.Fprintf(w, "<text x=\"%.0f\" y=\"%d\">%s</text>\n", barStart+length+6, y, duration(ns))
}

// duration formats nanoseconds with three significant digits, for example "49.5 ns" or
// "2.03 µs".
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}
