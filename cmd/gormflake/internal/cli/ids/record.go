package ids

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A record holds everything that the commands gen and parse can print of an ID.
type record struct {
	File       string   `json:"file,omitempty"`
	Line       int64    `json:"line,omitempty"`
	Input      string   `json:"input,omitempty"`  // the argument of parse
	Form       string   `json:"form,omitempty"`   // the form in which parse has read it, such as base58
	Prefix     string   `json:"prefix,omitempty"` // of a public ID
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

	at time.Time // the same as Time
}

// A reader reads the parts of IDs of one layout: time, datacenter, worker and sequence.
type reader struct {
	layout snowflake.Layout
	serial *serial.Format // nil without --code

	// swapped says whether the sequence precedes the worker in an ID, as in Sonyflake's. The
	// layout then calls the sequence Worker and the worker Sequence.
	swapped bool
}

// parts returns the parts of an ID. For a swapped layout it exchanges Worker and Sequence, so
// that each has its own value.
func (r reader) parts(id types.ID) snowflake.Parts {
	parts := r.layout.Decompose(id)
	if r.swapped {
		parts.Worker, parts.Sequence = parts.Sequence, parts.Worker
	}
	return parts
}

// newRecord returns the record of an ID. It leaves the fields about the input empty.
func (r reader) newRecord(id types.ID) record {
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

// writeBlock writes a line with a name and a value, such as "worker  3", for each part of the
// record that is not empty. now is the time from which the age of the ID is computed.
func (rec record) writeBlock(w io.Writer, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if value != "" {
			terminal.Say(table, "%s\t%v", name, value)
		}
	}
	row("id", rec.ID)
	if rec.Form != decimal.name { // only an unusual form is worth a line
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

// rowFormat is the format of a row of --table. Its columns have a fixed width, so that a row
// can be printed before the next row is known.
const rowFormat = "%-19v  %-24s  %10v  %6v  %8v  %-7s  %s"

// An output is the format of the flags --json, --table and --json-log, of which at most one
// is set. Without a flag, an argument is printed as a block, and an ID in a log is printed
// within its line.
type output struct{ json, table, jsonLog bool }

// writeHeading writes the names of the columns if the format is a table.
func (o output) writeHeading(w io.Writer) {
	if o.table {
		terminal.Say(w, rowFormat, "ID", "TIME", "DATACENTER", "WORKER", "SEQUENCE", "FORM", "DOUBT")
	}
}

// write writes the record as a single line if the format is --json or --table, and reports
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
