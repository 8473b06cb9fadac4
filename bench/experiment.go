package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
)

// An experiment measures one thing for several contenders side by side.
//
// Plain `go test -bench` cannot: it runs one contender for a second, then the
// next, so that each meets another machine; at its full rate every generator of
// 12 bits waits for the clock and reads 244 ns; and it reports means, to which
// every interruption adds. So an experiment goes round the contenders in windows
// far shorter than the machine's moods, chosen so that no tick's sequence is
// used up, and takes a low quantile or the median of each contender's windows.
type experiment struct {
	name   string
	run    func(effort) (sample, error)
	report func(series) report
}

// A sample holds one number for each contender, from one run.
type sample map[string]float64

// A series holds the numbers of all runs.
type series map[string][]float64

func (s series) add(one sample) {
	for name, x := range one {
		s[name] = append(s[name], x)
	}
}

// effort is how many windows a run takes: all, or a few to see that it works.
type effort struct{ quick bool }

func (e effort) windows(n int) int {
	if e.quick {
		return max(3, n/20)
	}
	return n
}

// measure runs all experiments once, then all again, so that what changes
// about the machine during the runs shows as spread instead of favouring some.
func measure(experiments []experiment, runs int, once func(run int) ([]sample, error)) ([]report, error) {
	all := make([]series, len(experiments))
	for i := range runs {
		fmt.Fprintf(os.Stderr, "run %d of %d\n", i+1, runs)
		samples, err := once(i)
		if err != nil {
			return nil, err
		}
		for j, one := range samples {
			if all[j] == nil {
				all[j] = series{}
			}
			all[j].add(one)
		}
	}
	reports := make([]report, len(experiments))
	for j, x := range experiments {
		reports[j] = x.report(all[j])
	}
	return reports, nil
}

// once runs each experiment, in this process.
func once(experiments []experiment, e effort) ([]sample, error) {
	samples := make([]sample, len(experiments))
	for i, x := range experiments {
		fmt.Fprintln(os.Stderr, "  "+x.name)
		settle()
		var err error
		if samples[i], err = x.run(e); err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return samples, nil
}

// settle leaves no garbage of the last experiment to the next.
func settle() {
	runtime.GC()
	debug.FreeOSMemory()
}

// atMillisecond returns right after a millisecond has begun, when the sequence
// of a millisecond is unused.
func atMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		continue
	}
}

// timed returns how many nanoseconds each of n steps of f takes.
func timed(n int, f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return float64(time.Since(start)) / float64(n), err
}

// A window measures one contender once, briefly: it returns nanoseconds per step.
type window struct {
	name string
	run  func() (float64, error)
}

// lowQuartile of the windows is the cost without interruptions: they hit fewer
// than three windows of four, even on a busy machine.
const lowQuartile = 0.25

// interleave goes round the windows, and sums up the windows of one name by the quantile.
func interleave(windows []window, rounds int, quantile float64) (sample, error) {
	times, err := collect(windows, rounds)
	if err != nil {
		return nil, err
	}
	sum := sample{}
	for name, xs := range times {
		sum[name] = stats.Quantile(xs, quantile)
	}
	return sum, nil
}

// collect goes round the windows, every other time the other way, so that no
// contender always follows the same one.
func collect(windows []window, rounds int) (series, error) {
	times := series{}
	for round := range rounds {
		for i := range windows {
			if round%2 == 1 {
				i = len(windows) - 1 - i
			}
			x, err := windows[i].run()
			if err != nil {
				return nil, err
			}
			times.add(sample{windows[i].name: x})
		}
	}
	return times, nil
}

// A figure is one line of the table of ratios: what is measured, what it is
// compared with, and what it has to reach. Its numbers are one for each run.
type figure struct {
	what      string
	unit      string // of ours and reference
	ours      []float64
	reference []float64 // nil: no reference
	ratio     []float64 // nil: no reference
	byRatio   bool      // the target is about the ratio, not about ours
	target    target
}

// A target is what the median over the runs has to reach.
type target struct {
	bound float64
	most  bool
	unit  string
}

func atMost(bound float64, unit string) target  { return target{bound, true, unit} }
func atLeast(bound float64, unit string) target { return target{bound, false, unit} }

func (t target) reached(x float64) bool {
	if t.most {
		return x <= t.bound
	}
	return x >= t.bound
}

func (t target) String() string {
	sign := "≥"
	if t.most {
		sign = "≤"
	}
	return sign + " " + quantity(t.bound, t.unit)
}

// versus is our time as a share of the reference's.
func versus(what string, s series, ours, reference string, t target) figure {
	return figure{
		what: what, unit: "ns", ours: s[ours], reference: s[reference],
		ratio: stats.Ratios(s[ours], s[reference]), byRatio: true, target: t,
	}
}

// faster is how many times the reference's time is ours.
func faster(what string, s series, ours, reference string, t target) figure {
	f := versus(what, s, ours, reference, t)
	f.ratio = stats.Ratios(s[reference], s[ours])
	return f
}

// plain is judged by its own number.
func plain(what string, ours []float64, t target) figure {
	return figure{what: what, unit: t.unit, ours: ours, target: t}
}

// against shows the reference, in its own unit times factor, without judging by it.
func (f figure) against(reference []float64, factor float64) figure {
	f.reference = scaled(reference, factor)
	f.ratio = stats.Ratios(f.ours, f.reference)
	return f
}

// in shows ours and the reference in another unit.
func (f figure) in(unit string, factor float64) figure {
	f.unit, f.ours, f.reference = unit, scaled(f.ours, factor), scaled(f.reference, factor)
	return f
}

func (f figure) judged() []float64 {
	if f.byRatio {
		return f.ratio
	}
	return f.ours
}

func (f figure) reached() bool { return f.target.reached(stats.Median(f.judged())) }

// row is what ours, reference, ratio, target, reached, spread.
func (f figure) row() []string {
	reached := "**no**"
	if f.reached() {
		reached = "yes"
	}
	x := f.judged()
	spread := fmt.Sprintf("%s–%s", number(slices.Min(x)), number(slices.Max(x)))
	return []string{
		f.what, median(f.ours, f.unit), median(f.reference, f.unit), median(f.ratio, "×"),
		f.target.String(), reached, spread,
	}
}

func scaled(xs []float64, factor float64) []float64 {
	ys := slices.Clone(xs)
	for i := range ys {
		ys[i] *= factor
	}
	return ys
}

func median(xs []float64, unit string) string {
	if len(xs) == 0 {
		return ""
	}
	return quantity(stats.Median(xs), unit)
}

func quantity(x float64, unit string) string {
	if unit == "" {
		return number(x)
	}
	return number(x) + " " + unit
}

// number has three significant digits, or all of the whole part.
func number(x float64) string {
	switch abs := max(x, -x); {
	case abs == 0:
		return "0"
	case abs < 10:
		return fmt.Sprintf("%.2f", x)
	case abs < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// A report is what one experiment has to say.
type report struct {
	figures []figure
	tables  []table
}

// A table is written in Markdown, with its columns aligned.
type table struct {
	title  string
	header []string
	rows   [][]string
}

// render puts the figures of all reports into one table, and theirs below it.
// It reports whether every figure was reached.
func render(machine string, reports []report) (text string, reached bool) {
	var w strings.Builder
	figures := table{
		title:  "Figures",
		header: []string{"what", "ours", "reference", "ratio", "target", "reached", "spread"},
	}
	reached = true
	for _, r := range reports {
		for _, f := range r.figures {
			figures.rows = append(figures.rows, f.row())
			reached = reached && f.reached()
		}
	}
	w.WriteString(machine + "\n")
	if len(figures.rows) > 0 {
		figures.write(&w)
	}
	for _, r := range reports {
		for _, t := range r.tables {
			t.write(&w)
		}
	}
	return w.String(), reached
}

func (t table) write(w *strings.Builder) {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(t.header))
	for i := range rule {
		rule[i] = strings.Repeat("-", widths[i])
	}
	w.WriteString("\n" + t.title + "\n\n")
	for _, row := range append([][]string{t.header, rule}, t.rows...) {
		w.WriteString(joined(row, widths))
	}
}

// joined counts in characters, as fmt's widths do not for joined cells.
func joined(row []string, widths []int) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// perContender lists the contenders with their medians, and how they compare
// with ours.
func perContender(title, unit string, contenders []peers.Contender, s series) table {
	var names []string
	for _, c := range contenders {
		names = append(names, c.Name)
	}
	return perName(title, unit, names, s)
}

// perName does so for names of a series, the first of which is ours.
func perName(title, unit string, names []string, s series) table {
	t := table{title: title, header: []string{"", unit, "ours / this"}}
	for _, name := range names {
		f := versus(name, s, names[0], name, target{})
		t.rows = append(t.rows, []string{name, median(s[name], ""), median(f.ratio, "×")})
	}
	return t
}
