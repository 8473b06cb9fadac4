package ids

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/issuer"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const (
	// blockSize is how many IDs are issued at a time. It is the number of IDs in a tick of
	// the default layout.
	blockSize = 4096

	// releaseTimeout limits the time that gen takes to release its leased worker at the end.
	releaseTimeout = 5 * time.Second
)

// genFlags holds the flags of gen, and the clock.
type genFlags struct {
	issuer   issuer.Flags // the layout, and the worker or the store to lease it from
	form     formFlags
	count    int64
	json     bool
	time     string // of --time, or "" to issue new IDs
	sequence int64  // of the ID of --time
	now      func() time.Time
}

// newGen returns the command gen. now is the clock, from which a relative --time is counted.
func newGen(now func() time.Time) *cobra.Command {
	f := &genFlags{now: now}
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Make IDs",
		Long: `Make IDs, one a line.

The worker is either a number that nobody else uses, or one that is leased from
a database for as long as the command runs. Where the database already knows the
layout of its workers, no flag is needed for that.

With --time, the one ID of that moment, datacenter, worker and sequence is made,
for tests and for comparisons. It may be an ID that has been issued, or will be:
never insert it.

` + flags.TimeForms,
		Example: `  gormflake gen --worker 7
  gormflake gen --worker 7 -n 3 --as base32
  gormflake gen --worker 7 --as serial --code PAY
  gormflake gen --dsn sqlite://app.db -n 1000 --json
  gormflake gen --time 2026-11-21T17:00:00Z --worker 7 --sequence 42`,
		Args: flags.NoArguments,
		RunE: f.run,
	}
	f.issuer.Register(cmd)
	f.form.register(cmd, "form of the IDs")
	cmd.Flags().StringVar(&f.time, "time", "", "make the ID of this time, instead of a new one")
	cmd.Flags().Int64Var(&f.sequence, "sequence", 0, "sequence of the ID of --time")
	cmd.Flags().Int64VarP(&f.count, "count", "n", 1, "how many")
	cmd.Flags().BoolVar(&f.json, "json", false, "print all that an ID contains, as a line of JSON")
	cmd.MarkFlagsMutuallyExclusive("as", "json")
	// The ID of --time is composed, so it needs no store and is a single ID.
	for _, other := range []string{"count", "dsn", "dsn-file", "window", "table", "namespace"} {
		cmd.MarkFlagsMutuallyExclusive("time", other)
	}
	return cmd
}

// run prints new IDs or, with --time, an ID that it composes of the flags. It checks all
// flags before it leases a worker, and releases the worker at the end.
func (f *genFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if f.count < 1 {
		return terminal.Usagef("-n %d: want at least 1", f.count)
	}
	if f.time != "" {
		return f.compose(cmd.OutOrStdout())
	}
	if flags.OnCommandLine(cmd, "sequence") {
		return terminal.Usagef("--sequence is for the ID of --time: a new one has the next sequence")
	}
	layout, layoutErr := f.issuer.Layout.Layout()
	_, formErr := f.writer(layout) // a mistake in the form must not cost a lease
	if err := cmp.Or(errors.Join(f.checkCode(), f.issuer.Check()), layoutErr, formErr); err != nil {
		return err
	}
	ctx := cmd.Context()
	// Info messages are not logged, because leasing a worker for a moment is not worth a
	// line.
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	iss, err := f.issuer.Open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, iss.Close(ctx, releaseTimeout)) }()
	write, err := f.writer(iss.Gen.Layout()) // which may come from the database
	if err != nil {
		return err
	}
	return generate(ctx, iss, f.count, cmd.OutOrStdout(), write)
}

// compose prints the ID that has the time, datacenter, worker and sequence of the flags. It
// does not connect to a database, even if $GORMFLAKE_DSN names one.
func (f *genFlags) compose(out io.Writer) error {
	layout, err := f.issuer.Layout.Layout()
	if err := errors.Join(err, f.checkCode()); err != nil {
		return err
	}
	at, err := flags.ParseTime(f.time, f.now())
	if err != nil {
		return fmt.Errorf("--time: %w", err)
	}
	id, err := layout.Compose(snowflake.Parts{Time: at, Datacenter: f.issuer.Datacenter, Worker: f.issuer.Worker, Sequence: f.sequence})
	write, formErr := f.writer(layout)
	if err := cmp.Or(terminal.Usage(err), formErr); err != nil {
		return err
	}
	write(out, id)
	return nil
}

// checkCode returns an error if --as serial lacks --code, or if --code is given
// without --as serial and without --json.
func (f *genFlags) checkCode() error {
	switch asSerial := f.form.as == serialName; {
	case asSerial && f.form.code == "":
		return terminal.Usagef("--as serial needs --code: the letters and digits that the serial numbers begin with")
	case f.form.code != "" && !asSerial && !f.json:
		return terminal.Usagef("--code is for --as serial and for --json: want one of them, or no --code")
	}
	return nil
}

// generate issues count IDs and writes each by write. It does so in blocks of blockSize IDs,
// so that the memory does not depend on count.
func generate(ctx context.Context, iss *issuer.Issuer, count int64, out io.Writer, write func(io.Writer, types.ID)) error {
	ids := make([]types.ID, min(blockSize, count))
	for made := int64(0); made < count; made += int64(len(ids)) {
		ids = ids[:min(int64(len(ids)), count-made)] // the last block may be shorter
		err := iss.Gen.Fill(ctx, ids)
		switch {
		case ctx.Err() != nil: // Fill checks ctx only when it waits
			return terminal.Interrupted(ctx, ctx.Err(), fmt.Sprintf("%d of %d IDs were made", made, count))
		case err != nil:
			return fmt.Errorf("after %d of %d IDs: %w", made, count, err)
		}
		for _, id := range ids {
			write(out, id)
		}
		if err := terminal.Flush(out); err != nil {
			return err
		}
	}
	return nil
}

// writer returns a function that writes an ID as a line, in the form of --as or as JSON.
func (f *genFlags) writer(layout snowflake.Layout) (func(io.Writer, types.ID), error) {
	serial, err := f.form.serialFormat(layout)
	if err != nil {
		return nil, err
	}
	if f.json {
		r := reader{layout: layout, serial: serial}
		return func(w io.Writer, id types.ID) { r.newRecord(id).writeJSON(w) }, nil
	}
	// serial is nil without --code, but checkCode then rejects --as serial, which would use it.
	as, err := f.form.selected(form{name: serialName, format: serial.Format})
	return func(w io.Writer, id types.ID) { _, _ = io.WriteString(w, as.format(id)+"\n") }, err
}
