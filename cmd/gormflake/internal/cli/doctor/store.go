package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/lease"
)

// examineStore examines a store of leases that is not a database, such as Redis. When
// lease.Inspect reads the records, the store checks the settings of its servers, and logs a
// warning for each unsafe setting. examineStore reports these warnings as findings, and also
// an error of the store.
func (d *doctor) examineStore(ctx context.Context) error {
	if err := d.flags.store.CheckRemote(); err != nil {
		return err
	}
	log := warningLog{Handler: slog.DiscardHandler}
	store, err := leasestore.Open(ctx, d.flags.database.URL(), d.flags.store.Namespace, slog.New(&log))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // the store was only read, so an error of Close does not matter
	in, err := lease.Inspect(ctx, store)
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("interrupted: %w", cause)
	}
	// The clocks are compared even if the records could not be read.
	if clock, ok := store.Store.(lease.Clock); ok {
		d.compareClocks(func() (time.Time, error) { return clock.Now(ctx) })
	}
	if err != nil {
		d.report.problem(settingsCheck, "", "no worker can be leased: "+terminal.OneLine(err), "fix the error and run doctor again")
		return nil
	}
	d.reportWarnings(&log)
	d.checkLeases(in)
	d.checkExpiry()
	return nil
}

// reportWarnings adds a finding for each warning that the store has logged. The messages
// have the form "package: problem: fix", and the attributes name the settings.
func (d *doctor) reportWarnings(log *warningLog) {
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, warning := range log.all {
		_, message, _ := strings.Cut(warning.Message, ": ") // without the package
		text, fix, _ := strings.Cut(message, ": ")
		warning.Attrs(func(a slog.Attr) bool {
			text += fmt.Sprintf(", %s", a)
			return true
		})
		d.report.warn(settingsCheck, "", text, fix)
	}
	if len(log.all) == 0 {
		d.report.ok(settingsCheck, "", "none is known under which the server forgets what it has acknowledged")
	}
}

// warningLog is a [slog.Handler] that collects the warnings of a store. It has a mutex because
// a store may log from its own goroutine.
type warningLog struct {
	slog.Handler // for the methods WithAttrs and WithGroup, which stores do not call

	mu  sync.Mutex
	all []slog.Record
}

// Enabled reports whether the level is at least that of a warning.
func (*warningLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle keeps the record.
func (w *warningLog) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, r)
	return nil
}
