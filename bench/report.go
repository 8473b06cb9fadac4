package main

import (
	"strings"
	"unicode/utf8"

	"github.com/gormflake/gormflake/bench/internal/peers"
)

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
