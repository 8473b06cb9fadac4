package ids

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serials"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
)

const parseHelp = `Take IDs apart: time, datacenter, worker and sequence, and the same ID in other
forms.

IDs among the arguments are shown one after the other. Without arguments, or
with --file, text is read instead, such as a log: it is printed as it is, and
each ID is followed by what it contains. Any bytes may be between the IDs, but
no line is longer than 1 MiB. UTF-16 with a byte order mark becomes UTF-8. --table
and --json print only the IDs; --json-log keeps a log of JSON valid.

How an argument is read, unless --as says it:
  only digits            decimal; also with JavaScript's n behind 15 and more
  0x and more            hex
  13 characters          base32
  up to 11 characters    base58 or base62: the one that gives a time from
                         --since to --until; if both do, both are shown, and
                         --json is an error
  a serial number        one with any code, or the code of --code, and any separator
  prefix_ and 22 digits  a public ID, by --secret-file: the 32 bytes that package
                         publicid was given

A serial number is a code of 1 to 32 of A-Z and 0-9, and behind it the time and
the numbers of the layout, as wide as the layout says: what stands before these
is the code, be it digits. Between all of them stands nothing, or the same one of
- _ and a full stop.

In text, IDs are runs of letters and digits with nothing but other characters
around them, and with a time from --since to --until. Serial numbers with
separators are found too. Of decimal ones, of those in hex with 0x and of serial
numbers that finds all; others need --as.

--since is a day after the layout's epoch, so that small numbers and short words
are not IDs, and --until a day from now. In text, decimal ones are of the 30th day or
later, as the numbers of cards are not, unless --since says otherwise. Neither
applies to a decimal argument or a serial number, nor to any argument with --as.

A line "doubt", or the column DOUBT, says why something is hardly an ID: it may be a
Unix time, of the first days of the layout, of the future, a word, or rounded by
JavaScript.

` + flags.TimeForms

// TakesIDs is the annotation of the command parse. A user may pass it a negative number,
// which pflag parses as a flag, so package cli explains the error.
const TakesIDs = "ids"

// parseFlags holds the flags of parse, and the clock.
type parseFlags struct {
	layout       flags.Layout
	form         formFlags
	files        []string // "-" is standard input
	secretFiles  []string // with the secrets of public IDs
	output       output
	since, until string // the times of likely IDs, or "" for the defaults
	now          func() time.Time
}

// newParse returns the command parse. now is the clock for ages and relative times.
func newParse(now func() time.Time) *cobra.Command {
	f := &parseFlags{now: now}
	cmd := &cobra.Command{
		Use:   "parse [ID...]",
		Short: "Take IDs apart, also those in a log",
		Long:  parseHelp,
		Example: `  gormflake parse 2124189853926044565
  gormflake parse --json 5VZ4ptk2d7i 1TYN3DBQC0CWN
  gormflake parse PAY2026112117150353000030494
  gormflake parse --secret-file publicid.secret ord_mhnGNExQofhATHNAGGdAju
  gormflake parse < app.log
  gormflake parse --file app.log --table --since -1d
  gormflake parse --json-log < app.log`,
		Annotations: map[string]string{TakesIDs: ""},
		RunE:        f.run,
	}
	f.layout.Reads = true // so that --layout accepts sonyflake, whose IDs cannot be issued
	f.layout.Register(cmd)
	f.form.register(cmd, "form of the IDs", autoName)
	flagSet := cmd.Flags()
	flagSet.StringArrayVarP(&f.files, "file", "f", nil, `file to find IDs in, "-" for standard input; may be repeated`)
	flagSet.StringArrayVar(&f.secretFiles, "secret-file", nil, "file with the secret of public IDs among the arguments; may be repeated, for retired ones")
	flagSet.BoolVar(&f.output.json, "json", false, "print a line of JSON for each ID")
	flagSet.BoolVar(&f.output.table, "table", false, "print a row for each ID")
	_ = flagSet.SetAnnotation("table", flags.NoVariable, nil) // $GORMFLAKE_TABLE is the table of the workers
	flagSet.BoolVar(&f.output.jsonLog, "json-log", false, "keep lines of JSON valid: add a field \"snowflake_ids\" to each object that has IDs")
	flagSet.StringVar(&f.since, "since", "", "time from which on a text is taken for an ID")
	flagSet.StringVar(&f.until, "until", "", "time up to which a text is taken for an ID")
	cmd.MarkFlagsMutuallyExclusive("json", "table", "json-log")
	return cmd
}

// run takes the arguments apart, each of which is an ID. Without arguments, it prints files
// or standard input, such as a log, with the contents of each ID in them.
func (f *parseFlags) run(cmd *cobra.Command, args []string) error {
	if slices.Equal(args, []string{"-"}) { // the same as --file -
		args = nil
		f.files = append(f.files, "-")
	}
	switch {
	case len(args) > 0 && f.output.jsonLog:
		return terminal.Usagef("--json-log is for text, and IDs are given: want one of them")
	case len(args) > 0 && len(f.files) > 0:
		return terminal.Usagef("IDs and --file are both given: want one of them")
	case len(args) == 0 && len(f.files) == 0:
		if terminal.IsTerminal(cmd.InOrStdin()) {
			return terminal.Usagef(`no IDs: give them as arguments, a log with --file or on standard input, or "-" to type them`)
		}
		f.files = []string{"-"}
	}
	in, err := f.newInterpreter()
	switch {
	case err != nil:
		return err
	case len(args) > 0:
		return f.arguments(cmd.OutOrStdout(), in, args)
	case len(f.secretFiles) > 0:
		return terminal.Usagef("--secret-file is for public IDs among the arguments, and text is read: want IDs")
	}
	return f.texts(cmd, in)
}

// newInterpreter returns the interpreter for the flags.
func (f *parseFlags) newInterpreter() (*interpreter, error) {
	layout, layoutErr := f.layout.Layout()
	format, formatErr := f.form.serialFormat(layout)
	numbers, numbersErr := serials.New(layout, f.form.code)
	serialForm := form{name: serialName, parse: numbers.Parse}
	as, asErr := f.form.selected(serialForm)
	codecs, codecsErr := readCodecs(f.secretFiles)
	since, until, spanErr := f.span(layout)
	if err := cmp.Or(layoutErr, formatErr, numbersErr, asErr, codecsErr, spanErr); err != nil {
		return nil, err
	}
	in := &interpreter{
		reader: reader{layout, format, f.layout.Swapped()}, as: as, serials: numbers, serialForm: serialForm,
		firstLikely: max(1, layout.Min(since)), lastLikely: layout.Max(until), codecs: codecs, now: f.now(),
	}
	// By default, a decimal number in a log is an ID only if it is larger than numbers of
	// credit cards are.
	if f.since == "" {
		in.firstNumber = layout.Min(matureTime(layout, f.now()))
	}
	return in, nil
}

// span returns the times of --since and --until, between which a text counts as an ID. The
// defaults are a day after the layout's epoch, and a day from now.
func (f *parseFlags) span(layout snowflake.Layout) (since, until time.Time, err error) {
	const day = 24 * time.Hour
	now := f.now()
	since, until = layout.Epoch.Add(day), now.Add(day)
	for _, flag := range []struct {
		name, text string
		at         *time.Time
	}{{"since", f.since, &since}, {"until", f.until, &until}} {
		if flag.text == "" { // keep the default
			continue
		}
		if *flag.at, err = flags.ParseTime(flag.text, now); err != nil {
			return since, until, fmt.Errorf("--%s: %w", flag.name, err)
		}
	}
	// If the epoch is in the future, the defaults are in the wrong order. The user has then
	// made no mistake, so check the order only if a flag is given.
	if f.since+f.until != "" && since.After(until) {
		err = terminal.Usagef("no ID is of a time from %s to %s: want --since before --until",
			terminal.Stamp(since), terminal.Stamp(until))
	}
	return since, until, err
}

// arguments prints the contents of each argument, which is an ID in any form. It reads all
// arguments first, so that it prints nothing if an argument is not an ID.
func (f *parseFlags) arguments(out io.Writer, in *interpreter, args []string) error {
	var records []record
	for _, arg := range args {
		readings, err := in.read(arg)
		if err != nil {
			return terminal.Usage(err)
		}
		if f.output.json && len(readings) > 1 { // a program could not choose between the readings
			return terminal.Usage(in.ambiguous(arg, readings))
		}
		for _, r := range readings {
			rec := in.recordOf(r)
			rec.Input = arg
			rec.Doubt = in.doubt(r)
			records = append(records, rec)
		}
	}
	f.output.writeHeading(out)
	for i, rec := range records {
		if f.output.write(out, rec) { // as JSON or as a row of the table
			continue
		}
		if i > 0 { // a blank line between two blocks
			terminal.Say(out, "")
		}
		rec.writeBlock(out, f.now())
	}
	return nil
}

// texts prints the files with the contents of each ID in them or, with --json or --table,
// only the IDs.
func (f *parseFlags) texts(cmd *cobra.Command, in *interpreter) error {
	p := printer{interpreter: in, output: f.output, out: cmd.OutOrStdout(), painter: terminal.PainterOf(cmd.OutOrStdout())}
	p.writeHeading(p.out)
	for _, name := range f.files {
		if err := p.printFile(cmd, name); err != nil {
			return err
		}
	}
	return nil
}
