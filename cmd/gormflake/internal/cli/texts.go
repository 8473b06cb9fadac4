package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// texts finds the IDs in the files.
func (f *parseFlags) texts(cmd *cobra.Command) error {
	in, err := f.interpreter()
	if err != nil {
		return err
	}
	p := printer{interpreter: in, out: cmd.OutOrStdout(), json: f.json, table: f.table}
	if f.table {
		if err := writeHeading(p.out); err != nil {
			return err
		}
	}
	for _, name := range f.files {
		if err := p.file(cmd, name); err != nil {
			return err
		}
	}
	return nil
}

// A printer prints a text, or the IDs that are in it.
type printer struct {
	*interpreter
	out         io.Writer
	json, table bool
	name        string // of the file, if it is one
	line        int64
	note        []byte
}

func (p *printer) file(cmd *cobra.Command, name string) error {
	in := cmd.InOrStdin()
	p.name, p.line = "", 1
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in, p.name = file, name
	}
	text := words{in: contextReader{cmd.Context(), in}, text: p.text, word: p.word, chunkDone: p.flush}
	if p.takesSerials() {
		text.tail = p.serials.tail
	}
	return text.run()
}

func (p *printer) text(b []byte) error {
	if p.json || p.table {
		p.line += int64(bytes.Count(b, []byte{'\n'}))
		return nil
	}
	return p.write(b)
}

func (p *printer) word(b []byte) (handled bool, err error) {
	r, ok := p.find(b)
	if !ok {
		return false, nil
	}
	if !p.json && !p.table {
		p.note = p.annotate(append(p.note[:0], b...), r)
		return true, p.write(p.note)
	}
	rec := p.recordOf(r)
	rec.File, rec.Line = p.name, p.line
	if p.table {
		err = rec.writeRow(p.out)
	} else {
		err = rec.writeJSON(p.out)
	}
	return true, err
}

// annotate writes what an ID tells behind it.
func (p *printer) annotate(b []byte, r reading) []byte {
	parts := p.layout.Decompose(r.id)
	b = append(b, '(')
	b = parts.Time.AppendFormat(b, milliseconds)
	if p.layout.DatacenterBits > 0 {
		b = strconv.AppendInt(append(b, " datacenter "...), parts.Datacenter, 10)
	}
	b = strconv.AppendInt(append(b, " worker "...), parts.Worker, 10)
	b = strconv.AppendInt(append(b, " sequence "...), parts.Sequence, 10)
	return append(b, ')')
}

func (p *printer) write(b []byte) error {
	_, err := p.out.Write(b)
	return err
}

// flush shows what is known while the text's writer may take its time.
func (p *printer) flush() error {
	if out, ok := p.out.(interface{ Flush() error }); ok {
		return out.Flush()
	}
	return nil
}

// A contextReader returns from a Read that lasts once the context has ended.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	got := make(chan answer, 1)
	go func() {
		n, err := r.in.Read(p)
		got <- answer{n, err}
	}()
	select {
	case a := <-got:
		return a.n, a.err
	case <-r.ctx.Done(): // p is not touched again
		return 0, errors.New("interrupted")
	}
}
