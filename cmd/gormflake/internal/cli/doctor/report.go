package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// A severity says whether a finding needs action.
type severity string

// The severities of findings.
const (
	fine    severity = "ok"
	warning severity = "warning"
	problem severity = "problem"
)

// colours are the colours of severities on a terminal.
var colours = map[severity]terminal.Colour{fine: terminal.Green, warning: terminal.Yellow, problem: terminal.Red}

// A finding is a result of a check.
type finding struct {
	Severity severity `json:"severity"`
	Check    string   `json:"check"`             // the name of the check, for example keys
	Subject  string   `json:"subject,omitempty"` // for example a table, a column or a worker
	Text     string   `json:"text"`
	Fix      string   `json:"fix,omitempty"`
}

// A report collects the findings of a run. With --json it is the output.
type report struct {
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
	Usage    []usage   `json:"usage,omitempty"`
}

// add appends a finding, and counts it if it is a warning or a problem.
func (r *report) add(f finding) {
	r.Findings = append(r.Findings, f)
	switch f.Severity {
	case warning:
		r.Warnings++
	case problem:
		r.Problems++
	}
}

// ok adds a finding that needs no action, and so has no fix.
func (r *report) ok(check, subject, text string) { r.add(finding{fine, check, subject, text, ""}) }

// warn adds a warning.
func (r *report) warn(check, subject, text, fix string) {
	r.add(finding{warning, check, subject, text, fix})
}

// problem adds a problem.
func (r *report) problem(check, subject, text, fix string) {
	r.add(finding{problem, check, subject, text, fix})
}

// healthy reports whether no finding needs action.
func (r *report) healthy() bool { return r.Problems+r.Warnings == 0 }

// write writes the findings as lines, with their fixes, or as a JSON object.
func (r *report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return terminal.SayJSON(out, r)
	}
	width, painter := terminal.Width(out), terminal.PainterOf(out)
	for _, f := range r.Findings {
		text := f.Text
		if f.Subject != "" {
			text = f.Subject + ": " + text
		}
		const indent = 19 // the width of the severity and the check in the format below
		line := terminal.Wrap(fmt.Sprintf("%-8s %-9s %s", f.Severity, f.Check, text), width, indent)
		// The severity is coloured after the line is wrapped, so that the escape sequences do
		// not count as characters.
		terminal.Say(out, "%s%s", painter.Paint(colours[f.Severity], string(f.Severity)), strings.TrimPrefix(line, string(f.Severity)))
		if f.Fix != "" {
			terminal.Say(out, "%s", terminal.Wrap(fmt.Sprintf("%*sfix: %s", indent, "", f.Fix), width, indent+len("fix: ")))
		}
	}
	if r.healthy() {
		terminal.Say(out, "all is well")
		return nil
	}
	terminal.Say(out, "%s, %s", terminal.Counted(r.Problems, "problem", "problems"), terminal.Counted(r.Warnings, "warning", "warnings"))
	return nil
}

// writeTextfile writes the usage of keys and sequences as metrics to a file, for the textfile
// collector of node_exporter. name is the path of the file. database is a label of the metrics.
func (r *report) writeTextfile(name, database string) error {
	used := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gormflake_key_used_ratio", Help: "Used part of the numbers of a key or a sequence.",
	}, []string{"database", "name"})
	for _, u := range r.Usage {
		// WithLabelValues panics if a label is not valid UTF-8.
		used.WithLabelValues(strings.ToValidUTF8(database, "?"), strings.ToValidUTF8(u.Name, "?")).Set(u.Used)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(used)
	if err := prometheus.WriteToTextfile(name, registry); err != nil {
		return fmt.Errorf("--textfile: %w", err)
	}
	return nil
}

// A usage says how many of its numbers a key or a sequence has used.
type usage struct {
	Name  string  `json:"name"`           // table.column, or the name of a sequence
	Last  float64 `json:"last"`           // the last number that was assigned
	Limit float64 `json:"limit"`          // the largest number of the type or sequence
	Used  float64 `json:"used"`           // the used part; 1 means that all numbers are used
	Full  string  `json:"full,omitempty"` // the date on which all numbers will be used at the present rate
	fix   string  // of the finding, if too many are used
}

// maxNames is how many names a finding lists.
const maxNames = 5

// joinNames joins names with commas. It returns at most maxNames of them, followed by the
// number of the other names, as in "a, b, c, d, e, and 2 more".
func joinNames(names []string) string {
	if rest := len(names) - maxNames; rest > 0 {
		// The capacity is limited, so that append copies the names of the caller.
		names = append(names[:maxNames:maxNames], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(names, ", ")
}
