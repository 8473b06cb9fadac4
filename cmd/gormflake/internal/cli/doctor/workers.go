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

	// farAhead is how far the bound of a lease may be ahead of the clock. A lease ends at its
	// bound, which a process sets at most a window ahead, usually a minute or less. A bound
	// that is farther ahead has another cause, such as a wrong clock.
	farAhead = time.Hour

	// It is a warning if the layout expires within expiryWarning, and a problem if it expires
	// within expiryProblem.
	expiryWarning = 5 * 365 * 24 * time.Hour
	expiryProblem = 365 * 24 * time.Hour
)

// checkWorkers checks the table of workers and the leases in it, and looks for further tables
// of workers.
func (d *doctor) checkWorkers() {
	// ExistingTable keeps the store from creating the table. AllowVolatile lets it read also
	// on a server that may lose writes, which checkSettings reports.
	options := append(d.flags.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile(), sqllease.WithLogger(slog.New(slog.DiscardHandler)))
	in, err := lease.Inspect(d.Ctx, sqllease.New(d.DB, options...))
	var tableErr *sqllease.TableError
	switch {
	// MySQL gives ErrNoTable also for a table that the account may not read, which may exist.
	case errors.Is(err, sqllease.ErrNoTable) && !readonly.Denied(err):
		d.report.ok(workersCheck, "", fmt.Sprintf("there is no table %s: no worker is leased from this database", d.flags.store.Table))
	case errors.As(err, &tableErr): // the table lacks, for example, its primary key
		for _, flaw := range tableErr.Flaws {
			d.report.problem(workersCheck, tableErr.Table, flaw.Found+": want "+flaw.Want, flaw.Fix)
		}
		d.warnUnchecked(workersCheck, tableErr.Table, d.checkDoubled(tableErr.Table))
	case err != nil:
		d.warnUnchecked(workersCheck, d.flags.store.Table, err)
	default:
		d.checkLeases(in)
	}
	d.checkOtherTables()
}

// checkLeases checks the layout and the holders of the leased workers. If no flag sets a
// layout, it adopts their layout for the following checks. Another layout in a flag is a
// problem, because IDs of different layouts can be equal.
func (d *doctor) checkLeases(in *lease.Inspection) {
	if in.Layout == (snowflake.Layout{}) {
		d.report.ok(workersCheck, "", fmt.Sprintf("no worker of namespace %s was ever leased", d.flags.store.Namespace))
		return
	}
	d.storedLayout = in.Layout
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

// checkExpiry reports when the layout expires, which is when its last tick has passed.
func (d *doctor) checkExpiry() {
	name := d.layout.String()
	if d.storedLayout == (snowflake.Layout{}) && !d.flags.layout.Given() {
		name += " (none is stored: this is the default)"
	}
	expires := d.layout.Expires()
	timeLeft := expires.Sub(d.flags.now())
	text := fmt.Sprintf("%s expires on %s", name, expires.Format(time.DateOnly))
	const fix = "move to a layout with more time bits, a longer tick or a later epoch, whose IDs are all above the old ones"
	switch {
	case timeLeft <= 0:
		d.report.problem(layoutCheck, "", fmt.Sprintf("%s has expired on %s: no ID can be issued", name, expires.Format(time.DateOnly)), fix)
	case timeLeft < expiryProblem:
		d.report.problem(layoutCheck, "", text, fix)
	case timeLeft < expiryWarning:
		d.report.warn(layoutCheck, "", text, fix)
	default:
		d.report.ok(layoutCheck, "", text)
	}
}

// checkHolders counts the workers by the state of their leases. It reports how many are
// free, how many were not released, and bounds that are too far ahead. holders has every
// worker that was ever leased.
func (d *doctor) checkHolders(holders []lease.Holder) {
	now := d.flags.now()
	takenIn := map[int64]int64{} // the number of workers of each datacenter that are not free
	var lapsed int
	var taken, far []lease.Holder // taken: not free; far: with a bound too far ahead
	for _, h := range holders {
		switch h.State(now) {
		case lease.Held, lease.Waiting: // a waiting worker was released, but its bound has not passed
			takenIn[h.Datacenter]++
			taken = append(taken, h)
		case lease.Lapsed: // the bound has passed without a release, so the worker is free
			lapsed++
		}
		if h.Until.Sub(now) > max(farAhead, h.Window) { // a process may lease with a window longer than an hour
			far = append(far, h)
		}
	}
	d.checkFree(takenIn, taken)
	if lapsed > 0 {
		d.report.ok(workersCheck, "", terminal.Counted(lapsed, "worker was", "workers were")+" not released when the holder died: the next process takes it")
	}
	if len(far) > 0 {
		d.reportAhead(far)
	}
}

// reportAhead reports the bounds that are too far ahead in a single finding, which names
// the furthest.
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

// byBound compares holders by their bounds, the times until which they hold their workers.
func byBound(a, b lease.Holder) int { return a.Until.Compare(b.Until) }

// checkFree reports how many workers of the layout are free. It is a warning if fewer than a
// tenth are free, and a problem if none is free. If a datacenter has no free worker, checkFree
// warns too. taken has an element for each worker that is not free, and takenIn has the number
// of these workers in each datacenter.
func (d *doctor) checkFree(takenIn map[int64]int64, taken []lease.Holder) {
	layout := d.storedLayout
	perDatacenter := int64(1) << layout.WorkerBits  // number of workers in a datacenter
	total := perDatacenter << layout.DatacenterBits // number of workers in all datacenters
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
		// Without datacenters, or if no worker is free, the finding above says it already.
		if layout.DatacenterBits > 0 && free > 0 && takenIn[datacenter] == perDatacenter {
			d.report.warn(workersCheck, fmt.Sprintf("datacenter %d", datacenter), fmt.Sprintf("all of its %d workers are held: no other process of it can start", perDatacenter),
				"stop processes, or give some of them another datacenter")
		}
	}
}

// oneTableAdvice is the part of a finding that says why a second table of workers is a
// mistake.
const oneTableAdvice = "processes that write to the same tables must lease their workers from one table: another one leases the same workers again"

// checkDoubled reports the workers that have several rows in the table of workers, so that
// two processes can hold one worker. table is the quoted name of a table that package
// sqllease has refused. Only such a table can have these rows, if it lacks its primary key.
func (d *doctor) checkDoubled(table string) error {
	query := "SELECT namespace, worker_id, COUNT(*) FROM " + table + " GROUP BY namespace, worker_id HAVING COUNT(*) > 1 ORDER BY 1, 2"
	type doubledWorker struct{ namespace, worker, rows string }
	found, err := readonly.Rows(d.Database, query, nil, func(w *doubledWorker) []any { return []any{&w.namespace, &w.worker, &w.rows} })
	var doubled []string
	for _, w := range found {
		doubled = append(doubled, fmt.Sprintf("worker %s of namespace %s has %s", w.worker, w.namespace, w.rows))
	}
	if len(doubled) > 0 {
		d.report.problem(workersCheck, table, "workers have several rows, and each row can have a holder: "+joinNames(doubled),
			"stop every process that leases workers, wait for one window, and keep only the row with the highest bound of each")
	}
	return err
}

// otherTablesPostgres queries the other tables that have the name of the table of workers. Each
// row has the schema of such a table, and whether a program that uses the name without a schema
// may find this table or the table of workers. The parameters are the quoted name of the table
// of workers, and its name without a schema.
//
// The column by_default is true for a table whose schema is public, has the name of a role
// ("$user" in the default search_path), or is in a search_path that is set for a role or the
// database. The search_path that a program sets itself is unknown here. own is the row of the
// table of workers. The query uses own.by_default too, so that two tables get the same result,
// no matter which of them doctor examines as the table of workers.
const otherTablesPostgres = `WITH tables AS (
  SELECT c.oid, n.nspname, n.nspname = 'public' OR EXISTS (SELECT FROM pg_roles WHERE rolname = n.nspname)
    OR EXISTS (SELECT FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) config
      WHERE config LIKE 'search_path=%' AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND n.nspname = ANY (regexp_split_to_array(replace(substr(config, 13), '"', ''), ',\s*'))) AS by_default
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = $2 AND c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%'
)
SELECT other.nspname, other.by_default OR other.nspname = ANY (current_schemas(false)) OR COALESCE(own.by_default, false)
FROM tables other LEFT JOIN tables own ON own.oid = to_regclass($1)
WHERE other.oid IS DISTINCT FROM CAST(to_regclass($1) AS oid) ORDER BY 1`

// otherTablesMySQL queries the other databases of the server that have a table with the name
// of the table of workers. The 0 says that no program finds it by the name without a database.
const otherTablesMySQL = `SELECT TABLE_SCHEMA, 0 FROM information_schema.TABLES
WHERE TABLE_TYPE <> 'VIEW' AND TABLE_NAME = ? AND TABLE_SCHEMA <> COALESCE(NULLIF(?, ''), DATABASE()) ORDER BY 1`

// checkOtherTables looks for further tables with the name of the table of workers, in other
// schemas or databases. If two processes write to the same tables, but lease their workers
// from different tables of workers, they can lease the same worker and issue equal IDs. So a
// table that a program may find by accident is a warning. Other such tables are only noted,
// because they may serve applications that share no table.
func (d *doctor) checkOtherTables() {
	schema, name := d.leaseTable()
	query, args := otherTablesMySQL, []any{name, schema}
	switch d.Dialect {
	case "sqlite":
		return // attached files are not opened here
	case "postgres":
		query, args = otherTablesPostgres, []any{d.Quote(schema, name), name}
	}
	type otherTable struct {
		schema    string
		reachable bool // whether a program may find one of the two tables by the name without a schema
	}
	others, err := readonly.Rows(d.Database, query, args, func(t *otherTable) []any { return []any{&t.schema, &t.reachable} })
	d.warnUnchecked(workersCheck, "", err)
	var unreachable []string
	for _, other := range others {
		switch quoted, plain := d.Quote(other.schema, name), other.schema+"."+name; {
		case slices.Contains(d.flags.skip, plain):
		case !other.reachable:
			unreachable = append(unreachable, quoted)
		default:
			d.report.warn(workersCheck, quoted, "it is a second table of workers in this database: "+oneTableAdvice,
				"stop every process that leases workers, wait for one window, drop one of the two, and name the other with its schema in sqllease.WithTable; if the two serve applications that share no table, --skip "+plain)
		}
	}
	if len(unreachable) > 0 {
		d.report.ok(workersCheck, "", "there are other tables of workers: "+joinNames(unreachable)+"; "+oneTableAdvice)
	}
}
