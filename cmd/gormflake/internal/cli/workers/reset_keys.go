package workers

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/types"
)

// maxListed is the largest number of names that joinNames lists.
const maxListed = 20

// tablesSQL returns the schemas and names of all tables of the database. The schema is
// empty for the current schema. On PostgreSQL these are ordinary, partitioned and foreign
// tables (relkind 'r', 'p' and 'f') without the partitions.
var tablesSQL = map[string]string{
	"sqlite": `SELECT '', name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 2`,
	"mysql":  `SELECT '', TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%' ORDER BY 1, 2`,
}

// parseColumns parses the values of --column, which are table.column or
// schema.table.column. It returns each column as the key of a table.
func parseColumns(values []string) ([]readonly.Table, error) {
	columns := make([]readonly.Table, len(values))
	for i, flag := range values {
		parts := strings.Split(flag, ".")
		if n := len(parts); n < 2 || n > 3 || slices.Contains(parts, "") {
			return nil, terminal.Usagef("--column %q: want table.column, such as orders.parent_id", flag)
		}
		last := len(parts) - 1
		// parts[:last-1] has the schema, or is empty for table.column.
		columns[i] = readonly.Table{Schema: strings.Join(parts[:last-1], ""), Name: parts[last-1], Key: parts[last]}
	}
	return columns, nil
}

// findColumns sets r.columns, the columns to search. These are the primary keys of the named
// tables, or of all tables if tables is empty, and the columns of --column. It returns the
// names of all other tables, because the user has to know that they are not searched.
func (r *reset) findColumns(tables []string, columns []readonly.Table) (unsearched []string, err error) {
	keys, err := r.Tables("")
	if err != nil {
		return nil, fmt.Errorf("the tables: %w", err)
	}
	// A key that is too narrow for a Snowflake ID cannot hold a key of the worker.
	keys = slices.DeleteFunc(keys, func(t readonly.Table) bool { return t.Narrow() })
	if len(tables) > 0 {
		if keys, err = selectKeys(keys, tables); err != nil {
			return nil, err
		}
	}
	r.columns = slices.Concat(keys, columns)
	// r.Tables leaves out tables whose primary key does not begin with an integer.
	all, err := readonly.Rows(r.Database, tablesSQL[r.Dialect], nil, func(t *readonly.Table) []any { return []any{&t.Schema, &t.Name} })
	for _, t := range all {
		searched := slices.ContainsFunc(r.columns, func(c readonly.Table) bool { return c.String() == t.String() })
		// The table of workers holds no IDs.
		if !searched && !t.Is(r.flags.store.Table) {
			unsearched = append(unsearched, t.String())
		}
	}
	return unsearched, err
}

// selectKeys returns the elements of keys, each a table with its key, whose tables are named.
func selectKeys(keys []readonly.Table, names []string) ([]readonly.Table, error) {
	var found []readonly.Table
	for _, name := range names {
		i := slices.IndexFunc(keys, func(t readonly.Table) bool { return t.Is(name) })
		if i < 0 {
			return nil, fmt.Errorf("table %s cannot be seen, or its primary key does not begin with a BIGINT: give its columns of IDs by --column", terminal.Quote(name))
		}
		found = append(found, keys[i])
	}
	return found, nil
}

// search returns an error if a column of r.columns contains a key of the worker at or after
// the bound, or cannot be read. The error names all such columns.
func (r *reset) search(bound time.Time) error {
	var errs []error
	for _, c := range r.columns {
		errs = append(errs, r.searchColumn(c, bound))
	}
	return errors.Join(errs...)
}

// searchColumn returns an error if the column contains a key of the worker at or after the
// bound, because the next holder of the worker would issue this key again. Keys begin with
// their time, so it reads only the last keys of the column's index. It excludes the keys
// that the database itself assigns from a parked counter, near the end of the layout,
// because their bits can look like any worker.
func (r *reset) searchColumn(c readonly.Table, bound time.Time) error {
	column, layout := r.Quote(c.Key), r.in.Layout
	// node is the datacenter and the worker, which are next to each other in an ID.
	node := r.holder.Datacenter<<layout.WorkerBits | r.holder.Worker
	parked := parking.NewPlace(layout)
	// For worker 7 of datacenter 0 of the layout twitter, the query is SELECT MAX(id) FROM orders
	// WHERE id >= the first ID at the bound AND (id >> 12) & 1023 = 7 AND id NOT BETWEEN the
	// first and the last key of a parked counter.
	query := fmt.Sprintf("SELECT MAX(%s) FROM %s WHERE %s >= %d AND (%s >> %d) & %d = %d AND %s NOT BETWEEN %d AND %d",
		column, r.Quote(c.Schema, c.Name), column, layout.Min(bound).Int64(),
		column, layout.SequenceBits, int64(1)<<(layout.DatacenterBits+layout.WorkerBits)-1, node,
		column, parked.First.Int64(), parked.Last.Int64())
	var highest sql.NullInt64
	if err := r.Ask(query, nil, &highest); err != nil {
		return fmt.Errorf("%v cannot be searched: %w: name the tables to search if it has no IDs", &c, err)
	}
	if !highest.Valid {
		return nil
	}
	return fmt.Errorf("%s has keys of this worker from above the new bound, the highest is %d, of %s: they would be issued once more: give those rows other keys, or delete them, first",
		c.Column(), highest.Int64, terminal.Stamp(layout.Time(types.ID(highest.Int64))))
}

// joinNames joins names with commas. Of more than maxListed names it lists maxListed, and
// counts the rest, as in "a, b and 5 more".
func joinNames(names []string) string {
	switch more := len(names) - maxListed; {
	case len(names) == 0:
		return "nothing"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
