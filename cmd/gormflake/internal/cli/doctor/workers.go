package doctor

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

const (
	workersCheck = "workers"
	layoutCheck  = "layout"

	// farAhead is longer than a window: what lies beyond is a wrong clock.
	farAhead = time.Hour

	expiryWarning = 5 * 365 * 24 * time.Hour
	expiryProblem = 365 * 24 * time.Hour
)

// checkWorkers checks the leased workers, and the layout that they belong
// to, which is the one to go by unless flags give another.
func (d *doctor) checkWorkers() {
	options := append(d.flags.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile(), sqllease.WithLogger(slog.New(slog.DiscardHandler)))
	in, err := lease.Inspect(d.Ctx, sqllease.New(d.DB, options...))
	var refused *sqllease.TableError
	switch {
	case errors.Is(err, sqllease.ErrNoTable) && !readonly.Denied(err):
		d.report.ok(workersCheck, "", fmt.Sprintf("there is no table %s: no worker is leased from this database", d.flags.store.Table))
	case errors.As(err, &refused):
		for _, flaw := range refused.Flaws {
			d.report.problem(workersCheck, refused.Table, flaw.Found+": want "+flaw.Want, flaw.Fix)
		}
		d.unseen(workersCheck, refused.Table, d.checkDoubled(refused.Table))
	case err != nil:
		d.unseen(workersCheck, d.flags.store.Table, err)
	default:
		d.checkLeases(in)
	}
	d.checkOtherTables()
}

func (d *doctor) checkLeases(in *lease.Inspection) {
	if in.Layout == (snowflake.Layout{}) {
		d.report.ok(workersCheck, "", fmt.Sprintf("no worker of namespace %s was ever leased", d.flags.store.Namespace))
		return
	}
	d.stored = in.Layout
	switch {
	case !d.flags.layout.Given():
		d.layout = in.Layout
	case !d.layout.Equal(in.Layout):
		d.report.problem(layoutCheck, "", fmt.Sprintf("the leased workers belong to %v, the flags say %v", in.Layout, d.layout),
			"use the stored layout everywhere, or another namespace and IDs that never meet the old ones")
	default:
		d.report.ok(layoutCheck, "", "the leased workers have the given one")
	}
	d.checkHolders(in.Holders)
}

func (d *doctor) checkExpiry() {
	name := d.layout.String()
	if d.stored == (snowflake.Layout{}) && !d.flags.layout.Given() {
		name += " (none is stored: this is the default)"
	}
	expires := d.layout.Expires()
	left := expires.Sub(d.flags.now())
	text := fmt.Sprintf("%s expires on %s", name, expires.Format(time.DateOnly))
	const fix = "move to a layout with more time bits, a longer tick or a later epoch, whose IDs are all above the old ones"
	switch {
	case left <= 0:
		d.report.problem(layoutCheck, "", fmt.Sprintf("%s has expired on %s: no ID can be issued", name, expires.Format(time.DateOnly)), fix)
	case left < expiryProblem:
		d.report.problem(layoutCheck, "", text, fix)
	case left < expiryWarning:
		d.report.warn(layoutCheck, "", text, fix)
	default:
		d.report.ok(layoutCheck, "", text)
	}
}

func (d *doctor) checkHolders(holders []lease.Holder) {
	now := d.flags.now()
	busy := map[int64]int64{} // by datacenter
	var lapsed int
	var taken, far []lease.Holder
	for _, h := range holders {
		switch h.State(now) {
		case lease.Held, lease.Waiting:
			busy[h.Datacenter]++
			taken = append(taken, h)
		case lease.Lapsed:
			lapsed++
		}
		if h.Until.Sub(now) > max(farAhead, h.Window) {
			far = append(far, h)
		}
	}
	d.checkFree(busy, taken)
	if lapsed > 0 {
		d.report.ok(workersCheck, "", terminal.Counted(lapsed, "worker was", "workers were")+" not released when the holder died: the next process takes it")
	}
	if len(far) > 0 {
		d.reportAhead(far)
	}
}

// reportAhead reports the bounds that are too far ahead as one, by the furthest.
func (d *doctor) reportAhead(far []lease.Holder) {
	furthest := slices.MaxFunc(far, byBound)
	place := fmt.Sprintf("datacenter %d worker %d", furthest.Datacenter, furthest.Worker)
	if others := len(far) - 1; others > 0 {
		place += " and " + terminal.Counted(others, "other", "others")
	}
	d.report.problem(workersCheck, place,
		fmt.Sprintf("its bound, %s, is %s ahead of the clock: a holder had a wrong clock, this machine has, or somebody raised it", terminal.Stamp(furthest.Until), terminal.Span(furthest.Until.Sub(d.flags.now()))),
		"correct the clocks; nobody else can take the worker before that time; never lower a bound by hand: see \"gormflake workers reset\"")
}

func byBound(a, b lease.Holder) int { return a.Until.Compare(b.Until) }

// checkFree warns when less than a tenth is free.
func (d *doctor) checkFree(busy map[int64]int64, taken []lease.Holder) {
	layout := d.stored
	each := int64(1) << layout.WorkerBits
	total := each << layout.DatacenterBits
	free := total - int64(len(taken))
	text := fmt.Sprintf("%d of %d are free", free, total)
	const fix = "stop processes, share one generator within each, or move to a layout with more worker bits"
	switch {
	case free == 0:
		d.report.problem(workersCheck, "", fmt.Sprintf("%s: no other process can start before %s, when the first bound passes", text, terminal.Stamp(slices.MinFunc(taken, byBound).Until)),
			fix+"; if holders are dead, release their workers, and start with lease.WithMaxAhead")
	case free*10 < total:
		d.report.warn(workersCheck, "", text, fix)
	default:
		d.report.ok(workersCheck, "", text)
	}
	for datacenter := range int64(1) << layout.DatacenterBits {
		if layout.DatacenterBits > 0 && free > 0 && busy[datacenter] == each {
			d.report.warn(workersCheck, fmt.Sprintf("datacenter %d", datacenter), fmt.Sprintf("all of its %d workers are held: no other process of it can start", each),
				"stop processes, or give some of them another datacenter")
		}
	}
}
