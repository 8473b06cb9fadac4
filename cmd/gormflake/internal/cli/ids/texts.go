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

// maxLine is the largest number of bytes in a line of a log.
const maxLine = 1 << 20

// A printer prints a log with the contents of each ID behind the ID, or only the IDs.
type printer struct {
	*interpreter
	output
	out     io.Writer
	painter terminal.Painter
	name    string // name of the file; empty for standard input
	line    int64  // number of the present line
	note    []byte // a buffer for annotate, which is used again for each ID
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

// toUTF8 returns a reader that converts UTF-16, as programs of Windows write it, to UTF-8. It
// recognizes UTF-16 by the byte order mark, and returns in for any other text.
func toUTF8(in *bufio.Reader) *bufio.Reader {
	mark, _ := in.Peek(2)
	if string(mark) != "\xff\xfe" && string(mark) != "\xfe\xff" {
		return in
	}
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM) // the mark decides the byte order
	return bufio.NewReaderSize(utf16.NewDecoder().Reader(in), maxLine)
}

// printLines prints a log line by line, because it may be longer than the memory, or may
// still be written. It returns nil at the end of the file.
func (p *printer) printLines(in *bufio.Reader) error {
	for p.line = 1; ; p.line++ {
		line, readErr := in.ReadSlice('\n') // the last line of a file may end without a newline
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

// printWords prints the line with the contents of each of its IDs behind the ID, or only its
// IDs. With --json-log, it prints the line with a field for the IDs.
func (p *printer) printWords(line []byte) {
	if p.jsonLog {
		p.printJSONLine(line)
		return
	}
	printed := 0 // the part of the line before this index is printed
	for r, end := range p.idsIn(line) {
		p.printText(line[printed:end]) // up to and including the ID
		p.printFound(r)
		printed = end
	}
	p.printText(line[printed:])
}

// idsIn yields each ID in the line, and the index of its end. It reads each word of the line,
// which is a run of letters and digits.
func (p *printer) idsIn(line []byte) iter.Seq2[reading, int] {
	return func(yield func(reading, int) bool) {
		for at := 0; at < len(line); at++ {
			end := at
			for end < len(line) && serials.IsWord[line[end]] {
				end++
			}
			if end == at { // no word begins here
				continue
			}
			if r, idEnd, found := p.findAt(line, at, end); found {
				if !yield(r, idEnd) {
					return
				}
				end = idEnd
			}
			at = end // the byte at end belongs to no word, so the loop may skip it
		}
	}
}

// findAt reads the word line[at:end] as an ID. idEnd is the index of the end of the ID, which
// is usually end. If the word is the code PAY of a serial number with separators, such as
// PAY-20220628160740105-11-26-0000, idEnd is behind the last part of the serial number. found
// is false if there is no ID.
func (p *printer) findAt(line []byte, at, end int) (r reading, idEnd int, found bool) {
	if p.takesSerials() {
		if tail := p.serials.Tail(line[end:]); tail > 0 {
			if r, found := p.find(line[at : end+tail]); found {
				return r, end + tail, true
			}
		}
	}
	if isDecimalFraction(line, at, end) || isNegative(line, at, end) {
		return reading{}, 0, false
	}
	r, found = p.find(line[at:end])
	return r, end, found
}

// isDecimalFraction reports whether the word line[at:end] belongs to a number such as 0.25,
// either as the 25, with a digit and a full stop in front of it, or as the 0.
func isDecimalFraction(line []byte, at, end int) bool {
	if at > 1 && line[at-1] == '.' && serials.IsDigit(line[at-2]) {
		return true
	}
	return end+1 < len(line) && line[end] == '.' && serials.IsDigit(line[end+1]) && serials.IsDigit(line[end-1])
}

// isNegative reports whether the word line[at:end] is a number after a minus sign. In
// order-17, the hyphen follows another word directly, and is not a minus sign.
func isNegative(line []byte, at, end int) bool {
	return at > 0 && line[at-1] == '-' && (at == 1 || !serials.IsWord[line[at-2]]) && isDigits(line[at:end])
}

// printFound prints the contents of an ID. Without --json and --table it prints them in
// parentheses, directly behind the ID, which printWords has just printed. With one of these
// flags it prints them as a line of their own.
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

// annotate appends the contents of an ID in parentheses to b, for example
// "(2026-11-21T17:15:01.372Z datacenter 0 worker 3 sequence 917)".
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

// printText prints a part of the log, unless only the IDs are printed.
func (p *printer) printText(b []byte) {
	if !p.json && !p.table {
		_, _ = p.out.Write(b)
	}
}

// flush writes the output if no further line is buffered in in, so that the user of "tail
// -f" sees each line at once. It returns an error if the output has no reader any more.
func (p *printer) flush(in *bufio.Reader) error {
	next, _ := in.Peek(in.Buffered()) // without a read, which could wait
	if bytes.IndexByte(next, '\n') >= 0 {
		return nil
	}
	return terminal.Flush(p.out)
}

// idsField is the field that --json-log adds to an object.
const idsField = `"snowflake_ids":`

// A containedID holds the contents of an ID, as an element of the field idsField.
type containedID struct {
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
}

// printJSONLine prints the line. Into an object that contains IDs, such as
// {"order":"2124189853926044565"}, it inserts the field snowflake_ids with their contents as
// the last field. It prints a line unchanged if the line is not an object, contains no ID, or
// has this field already. The bytes of the line itself do not change.
func (p *printer) printJSONLine(line []byte) {
	object := bytes.TrimRight(line, " \t\r\n") // line[len(object):] is the line's end
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
