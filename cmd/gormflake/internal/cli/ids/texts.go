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

// texts finds the IDs in the files.
func (f *parseFlags) texts(cmd *cobra.Command, in *interpreter) error {
	p := printer{interpreter: in, output: f.output, out: cmd.OutOrStdout(), painter: terminal.PainterOf(cmd.OutOrStdout())}
	p.writeHeading(p.out)
	for _, name := range f.files {
		if err := p.file(cmd, name); err != nil {
			return err
		}
	}
	return nil
}

// maxLine is how many bytes a line of a text has at most.
const maxLine = 1 << 20

// A printer prints a text, or the IDs that are in it.
type printer struct {
	*interpreter
	output
	out     io.Writer
	painter terminal.Painter
	name    string // of the file, if it is one
	line    int64
	note    []byte
}

func (p *printer) file(cmd *cobra.Command, name string) error {
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
	return p.lines(decoded(bufio.NewReaderSize(terminal.Reader{Ctx: cmd.Context(), In: in}, maxLine)))
}

// decoded makes UTF-8 of UTF-16, which begins with a byte order mark where Windows
// writes it.
func decoded(in *bufio.Reader) *bufio.Reader {
	mark, _ := in.Peek(2)
	if string(mark) != "\xff\xfe" && string(mark) != "\xfe\xff" {
		return in
	}
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	return bufio.NewReaderSize(utf16.NewDecoder().Reader(in), maxLine)
}

func (p *printer) lines(in *bufio.Reader) error {
	for p.line = 1; ; p.line++ {
		line, readErr := in.ReadSlice('\n')
		if errors.Is(readErr, bufio.ErrBufferFull) {
			return fmt.Errorf("line %d of %s is longer than 1 MiB: break it first, as tr , '\\n' does", p.line, cmp.Or(p.name, "standard input"))
		}
		p.words(line)
		if err := p.flush(in); err != nil || errors.Is(readErr, io.EOF) {
			return err
		}
		if readErr != nil {
			return readErr
		}
	}
}

// words prints the line with what is in its IDs, or what it has found.
func (p *printer) words(line []byte) {
	if p.jsonLog {
		p.jsonLine(line)
		return
	}
	printed := 0
	for r, end := range p.ids(line) {
		p.text(line[printed:end])
		p.found(r)
		printed = end
	}
	p.text(line[printed:])
}

// ids looks for an ID at each word of the line, and yields it and where it ends.
func (p *printer) ids(line []byte) iter.Seq2[reading, int] {
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
			at = end // before which nothing is a word
		}
	}
}

// findAt reads the word at line[at:end], with what belongs to it if it begins a
// serial number with separators, and returns where the ID ends.
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

// isFraction reports whether the word is a part of a number such as 0.25.
func isFraction(line []byte, at, end int) bool {
	if at > 1 && line[at-1] == '.' && serials.IsDigit(line[at-2]) {
		return true
	}
	return end+1 < len(line) && line[end] == '.' && serials.IsDigit(line[end+1]) && serials.IsDigit(line[end-1])
}

// isNegative reports whether the word is a number behind a minus sign, which a
// hyphen behind another word is not.
func isNegative(line []byte, at, end int) bool {
	return at > 0 && line[at-1] == '-' && (at == 1 || !serials.IsWord[line[at-2]]) && isDigits(line[at:end])
}

// found prints what an ID contains, in a text behind it.
func (p *printer) found(r reading) {
	if !p.json && !p.table {
		p.note = p.annotate(p.note[:0], r.id)
		_, _ = io.WriteString(p.out, p.painter.Paint(terminal.Cyan, string(p.note)))
		return
	}
	rec := p.recordOf(r)
	rec.File, rec.Line, rec.Doubt = p.name, p.line, p.doubt(r)
	p.write(p.out, rec)
}

// annotate appends what an ID contains.
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

func (p *printer) text(b []byte) {
	if !p.json && !p.table {
		_, _ = p.out.Write(b)
	}
}

// flush shows what is known before the next line has come, and ends the work if
// nobody reads it.
func (p *printer) flush(in *bufio.Reader) error {
	next, _ := in.Peek(in.Buffered())
	if bytes.IndexByte(next, '\n') >= 0 {
		return nil
	}
	return terminal.Flush(p.out)
}

// idsField is what --json-log adds to an object.
const idsField = `"snowflake_ids":`

// A contained is what an ID of a log contains.
type contained struct {
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
}

// jsonLine prints the line. If that is an object with IDs, they get a field of
// their own at its end; all else stays byte for byte what it was.
func (p *printer) jsonLine(line []byte) {
	object := bytes.TrimRight(line, " \t\r\n")
	ids := p.contained(object)
	if len(ids) == 0 || !isObject(object) || bytes.Contains(object, []byte(idsField)) {
		p.text(line)
		return
	}
	field, _ := json.Marshal(ids) // of texts and numbers, which can always be marshalled
	_, _ = fmt.Fprintf(p.out, "%s,%s%s}%s", object[:len(object)-1], idsField, field, line[len(object):])
}

// contained has each ID of the text once.
func (p *printer) contained(text []byte) []contained {
	var all []contained
	seen := map[types.ID]bool{}
	for r := range p.ids(text) {
		if seen[r.id] {
			continue
		}
		seen[r.id] = true
		parts := p.parts(r.id)
		all = append(all, contained{r.id, terminal.Stamp(parts.Time), parts.Datacenter, parts.Worker, parts.Sequence})
	}
	return all
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}
