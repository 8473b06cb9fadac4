package ids

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/text/encoding/unicode"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serials"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/types"
)

// maxLine is the largest number of bytes in a line.
const maxLine = 1 << 20

// A printer prints a text, or the IDs that it finds in it.
type printer struct {
	*interpreter
	output
	out     io.Writer
	painter terminal.Painter
	name    string // name of the file; empty for standard input
	line    int64  // number of the present line
	note    []byte // a buffer that annotate fills
}

// printFile prints a file, or standard input if the name is a hyphen.
func (p *printer) printFile(cmd *cobra.Command, name string) error {
	in := cmd.InOrStdin()
	p.name = ""
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in, p.name = file, name
	}
	return p.printLines(toUTF8(bufio.NewReaderSize(terminal.Reader{Ctx: cmd.Context(), In: in}, maxLine)))
}

// toUTF8 converts UTF-16 with a byte order mark, which Windows writes, to UTF-8.
func toUTF8(in *bufio.Reader) *bufio.Reader {
	mark, _ := in.Peek(2)
	if string(mark) != "\xff\xfe" && string(mark) != "\xfe\xff" {
		return in
	}
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	return bufio.NewReaderSize(utf16.NewDecoder().Reader(in), maxLine)
}

// printLines prints a text line by line.
func (p *printer) printLines(in *bufio.Reader) error {
	for p.line = 1; ; p.line++ {
		line, readErr := in.ReadSlice('\n')
		if errors.Is(readErr, bufio.ErrBufferFull) {
			return fmt.Errorf("line %d of %s is longer than 1 MiB: break it first, as tr , '\\n' does", p.line, cmp.Or(p.name, "standard input"))
		}
		p.printWords(line)
		if err := p.flush(in); err != nil || errors.Is(readErr, io.EOF) {
			return err
		}
		if readErr != nil {
			return readErr
		}
	}
}

// printWords prints the line with the contents of its IDs, or only its IDs.
func (p *printer) printWords(line []byte) {
	if p.jsonLog {
		p.printJSONLine(line)
		return
	}
	printed := 0
	for r, end := range p.idsIn(line) {
		p.printText(line[printed:end]) // up to and including the ID
		p.printFound(r)
		printed = end
	}
	p.printText(line[printed:])
}

// idsIn yields each ID in the line, and the index of its end.
func (p *printer) idsIn(line []byte) iter.Seq2[reading, int] {
	return func(yield func(reading, int) bool) {
		for at := 0; at < len(line); at++ {
			end := at
			for end < len(line) && serials.IsWord[line[end]] {
				end++
			}
			if end == at {
				continue
			}
			if r, to, found := p.findAt(line, at, end); found {
				if !yield(r, to) {
					return
				}
				end = to
			}
			at = end // the line has no word before at
		}
	}
}

// findAt reads the word line[at:end] as an ID, and returns to, the index of the end of the
// ID. If the word is the code of a serial number with separators, the parts that follow
// belong to the ID. found is false if there is no ID.
func (p *printer) findAt(line []byte, at, end int) (r reading, to int, found bool) {
	if p.takesSerials() {
		if tail := p.serials.Tail(line[end:]); tail > 0 {
			if r, found := p.find(line[at : end+tail]); found {
				return r, end + tail, true
			}
		}
	}
	if isFraction(line, at, end) || isNegative(line, at, end) {
		return reading{}, 0, false
	}
	r, found = p.find(line[at:end])
	return r, end, found
}

// isFraction reports whether the word is part of a number such as 0.25.
func isFraction(line []byte, at, end int) bool {
	if at > 1 && line[at-1] == '.' && serials.IsDigit(line[at-2]) {
		return true
	}
	return end+1 < len(line) && line[end] == '.' && serials.IsDigit(line[end+1]) && serials.IsDigit(line[end-1])
}

// isNegative reports whether the word is a number after a minus sign. A hyphen after
// another word is not a minus sign.
func isNegative(line []byte, at, end int) bool {
	return at > 0 && line[at-1] == '-' && (at == 1 || !serials.IsWord[line[at-2]]) && isDigits(line[at:end])
}

// printFound prints the contents of an ID, after the ID or in place of the text.
func (p *printer) printFound(r reading) {
	if !p.json && !p.table {
		p.note = p.annotate(p.note[:0], r.id)
		_, _ = io.WriteString(p.out, p.painter.Paint(terminal.Cyan, string(p.note)))
		return
	}
	rec := p.recordOf(r)
	rec.File, rec.Line, rec.Doubt = p.name, p.line, p.doubt(r)
	p.write(p.out, rec)
}

// annotate appends the contents of an ID in parentheses.
func (p *printer) annotate(b []byte, id types.ID) []byte {
	parts := p.parts(id)
	b = append(b, '(')
	b = parts.Time.UTC().AppendFormat(b, terminal.Milliseconds)
	if p.layout.DatacenterBits > 0 {
		b = strconv.AppendInt(append(b, " datacenter "...), parts.Datacenter, 10)
	}
	b = strconv.AppendInt(append(b, " worker "...), parts.Worker, 10)
	b = strconv.AppendInt(append(b, " sequence "...), parts.Sequence, 10)
	return append(b, ')')
}

// printText prints a part of the text, unless only its IDs are printed.
func (p *printer) printText(b []byte) {
	if !p.json && !p.table {
		_, _ = p.out.Write(b)
	}
}

// flush writes the output if no further line is buffered in in, so that the user of "tail
// -f" sees each line at once. It returns an error if the output has no reader any more.
func (p *printer) flush(in *bufio.Reader) error {
	next, _ := in.Peek(in.Buffered())
	if bytes.IndexByte(next, '\n') >= 0 {
		return nil
	}
	return terminal.Flush(p.out)
}

// idsField is the field that --json-log adds to an object.
const idsField = `"snowflake_ids":`

// A containedID holds the contents of an ID in a log.
type containedID struct {
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
}

// printJSONLine prints the line. If the line is an object that contains IDs, and has no
// field for them yet, it adds the field at the end of the object. It does not change any
// other byte.
func (p *printer) printJSONLine(line []byte) {
	object := bytes.TrimRight(line, " \t\r\n")
	ids := p.containedIDs(object)
	if len(ids) == 0 || !isObject(object) || bytes.Contains(object, []byte(idsField)) {
		p.printText(line)
		return
	}
	field, _ := json.Marshal(ids) // Marshal does not fail for strings and numbers
	_, _ = fmt.Fprintf(p.out, "%s,%s%s}%s", object[:len(object)-1], idsField, field, line[len(object):])
}

// containedIDs returns the contents of each ID in the text, without duplicates.
func (p *printer) containedIDs(text []byte) []containedID {
	var all []containedID
	seen := map[types.ID]bool{}
	for r := range p.idsIn(text) {
		if seen[r.id] {
			continue
		}
		seen[r.id] = true
		parts := p.parts(r.id)
		all = append(all, containedID{r.id, terminal.Stamp(parts.Time), parts.Datacenter, parts.Worker, parts.Sequence})
	}
	return all
}

// isObject reports whether text is a valid JSON object.
func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}
