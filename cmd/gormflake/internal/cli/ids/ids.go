// Package ids has the commands for IDs. gen issues IDs, parse reads them, and min and max
// return the smallest and the largest ID of a time.
package ids

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// New returns the commands gen, parse, min and max. now is the clock for relative times.
func New(now func() time.Time) []*cobra.Command {
	return []*cobra.Command{newGen(now), newParse(now), newMin(now), newMax(now)}
}

// A form is a way to write an ID.
type form struct {
	name   string
	format func(types.ID) string
	parse  func(string) (types.ID, error)
}

const (
	autoName   = "auto"
	serialName = "serial"
)

var (
	decimal     = form{"decimal", types.ID.String, types.ParseID}
	hexadecimal = form{"hex", formatHex, parseHex}

	// bigInt is the form in which JavaScript prints a BigInt, with an n at the end.
	bigInt = form{decimal.name, types.ID.String, func(s string) (types.ID, error) { return types.ParseID(strings.TrimSuffix(s, "n")) }}
)

// guessed are the possible forms of a text that is neither decimal nor hexadecimal.
var guessed = []form{
	{"base32", types.ID.Base32, types.ParseBase32},
	{"base58", types.ID.Base58, types.ParseBase58},
	{"base62", types.ID.Base62, types.ParseBase62},
}

// plainForms are the forms that need only the ID.
var plainForms = slices.Concat([]form{decimal}, guessed, []form{hexadecimal})

func formatHex(id types.ID) string { return fmt.Sprintf("%#x", id.Int64()) }

// parseHex parses hexadecimal digits with or without 0x.
func parseHex(s string) (types.ID, error) {
	digits := s
	if isHex(s) {
		digits = s[2:]
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	if err != nil {
		return 0, fmt.Errorf("%s is not an ID in hexadecimal: want up to 16 digits, at most 7fffffffffffffff", terminal.Quote(s))
	}
	return types.ID(n), nil
}

// formFlags holds --as and --code.
type formFlags struct {
	names    []string
	as, code string
}

// register adds the flags to a command. others are further names for --as. The first name
// is the default, which is decimal without further names.
func (f *formFlags) register(cmd *cobra.Command, what string, others ...string) {
	f.names = others
	for _, plain := range plainForms {
		f.names = append(f.names, plain.name)
	}
	f.names = append(f.names, serialName)
	flags.ChoiceVar(cmd, &f.as, "as", f.names[0], what+": "+strings.Join(f.names, ", "), f.names)
	cmd.Flags().StringVar(&f.code, "code", "", "code that serial numbers begin with, such as PAY")
}

// form returns the form that --as names, or the zero form for auto. serials is the form
// of serial numbers.
func (f *formFlags) form(serials form) (form, error) {
	for _, known := range append(slices.Clip(plainForms), serials) {
		if known.name == f.as {
			return known, nil
		}
	}
	if slices.Contains(f.names, f.as) {
		return form{}, nil
	}
	return form{}, terminal.Usagef("--as %q: want one of %s", f.as, strings.Join(f.names, ", "))
}

// serial returns the format of --code, or nil if there is no code.
func (f *formFlags) serial(layout snowflake.Layout) (*serial.Format, error) {
	if f.code == "" {
		return nil, nil
	}
	format, err := serial.New(f.code, layout)
	if err != nil {
		return nil, terminal.Usagef("--code: %w", err)
	}
	return format, nil
}

// A record holds all parts of an ID for JSON.
type record struct {
	File       string   `json:"file,omitempty"`
	Line       int64    `json:"line,omitempty"`
	Input      string   `json:"input,omitempty"`
	Form       string   `json:"form,omitempty"`
	Prefix     string   `json:"prefix,omitempty"`
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	UnixMilli  int64    `json:"unix_ms"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
	Base32     string   `json:"base32"`
	Base58     string   `json:"base58"`
	Base62     string   `json:"base62"`
	Serial     string   `json:"serial,omitempty"`
	Doubt      string   `json:"doubt,omitempty"` // why it is probably not an ID

	at time.Time
}

// A reader reads the parts of IDs.
type reader struct {
	layout snowflake.Layout
	serial *serial.Format // nil without --code

	swapped bool // whether the sequence precedes the worker
}

func (r reader) parts(id types.ID) snowflake.Parts {
	parts := r.layout.Decompose(id)
	if r.swapped {
		parts.Worker, parts.Sequence = parts.Sequence, parts.Worker
	}
	return parts
}

func (r reader) record(id types.ID) record {
	parts := r.parts(id)
	rec := record{
		ID: id, Time: terminal.Stamp(parts.Time), UnixMilli: parts.Time.UnixMilli(),
		Datacenter: parts.Datacenter, Worker: parts.Worker, Sequence: parts.Sequence,
		Base32: id.Base32(), Base58: id.Base58(), Base62: id.Base62(),
		at: parts.Time,
	}
	if r.serial != nil {
		rec.Serial = r.serial.Format(id)
	}
	return rec
}

// writeJSON writes the record as a line of JSON.
func (rec record) writeJSON(w io.Writer) { _ = json.NewEncoder(w).Encode(rec) }

// rowFormat has columns of fixed width, so that a row can be printed before the next is
// known.
const rowFormat = "%-19v  %-24s  %10v  %6v  %8v  %-7s  %s"

// An output is the format for IDs, unless they are printed in blocks or within their
// text.
type output struct{ json, table, jsonLog bool }

func (o output) writeHeading(w io.Writer) {
	if o.table {
		terminal.Say(w, rowFormat, "ID", "TIME", "DATACENTER", "WORKER", "SEQUENCE", "FORM", "DOUBT")
	}
}

// write writes the record in a single line if the format is JSON or a table, and reports
// whether it did.
func (o output) write(w io.Writer, rec record) bool {
	switch {
	case o.json:
		rec.writeJSON(w)
	case o.table:
		row := fmt.Sprintf(rowFormat, rec.ID, rec.Time, rec.Datacenter, rec.Worker, rec.Sequence, rec.Form, rec.Doubt)
		terminal.Say(w, "%s", strings.TrimRight(row, " "))
	}
	return o.json || o.table
}

// writeBlock writes a line for each part of the ID.
func (rec record) writeBlock(w io.Writer, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if value != "" {
			terminal.Say(table, "%s\t%v", name, value)
		}
	}
	row("id", rec.ID)
	if rec.Form != decimal.name {
		row("read as", rec.Form)
	}
	row("prefix", rec.Prefix)
	row("time", rec.Time)
	row("local time", rec.at.Local().Format(terminal.Milliseconds))
	row("age", terminal.Age(rec.at, now))
	row("datacenter", rec.Datacenter)
	row("worker", rec.Worker)
	row("sequence", rec.Sequence)
	row("base32", rec.Base32)
	row("base58", rec.Base58)
	row("base62", rec.Base62)
	row("serial", rec.Serial)
	row("doubt", rec.Doubt)
	_ = table.Flush()
}
