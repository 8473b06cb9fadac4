package migrate

import (
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

type planFlags struct {
	migrateFlags
	details, sql, json bool
	writeReferences    string // the path of a file, or ""
}

func newPlan() *cobra.Command {
	var set planFlags
	cmd := &cobra.Command{
		Use:   "plan --dsn URL TABLE...",
		Short: "Show what would be done, for how long and under which locks",
		Long: `Show what would be done to the tables and to all that are connected with them,
for how long and under which locks, and what stands in the way. Nothing is
changed. A summary comes first; --details adds the columns and each step, --sql
prints the statements in order for a review, and --json all of it for programs.

--schema and --tables select tables whose primary key begins with an integer; not
those of goose, golang-migrate and extensions.

Columns that are too narrow for a Snowflake ID and may hold keys of the tables
are listed: by their names, comments, by what views and functions compare them
with, and by a sample of their values. Name each with --reference, so that it is
moved too, or with --not-reference. "gormflake doctor" takes the same flags. For many
columns, --write-references writes a file that --references reads.

The exit code is 0 if there is nothing to do, 3 if there are changes to make, such
columns, or what the phases leave undone, and 1 if something stands in the way or the database could not be
read.`,
		Example: `  gormflake migrate plan --dsn sqlite://shop.db orders
  gormflake migrate plan --dsn sqlite://shop.db --sql --reference audit.order_id=orders.id orders`,
		Args: needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return set.withPlan(cmd.Context(), flags.ReadOnly, tables, func(_ *gorm.DB, plan *sqlmigrate.Plan) error {
				if err := set.print(cmd, plan); err != nil {
					return err
				}
				if set.writeReferences != "" {
					if err := set.references.Write(set.writeReferences, plan.Likely); err != nil {
						return err
					}
				}
				return findings(plan.Blockers, plan.Empty() && len(plan.Likely) == 0 && len(plan.Omitted) == 0)
			})
		},
	}
	set.register(cmd)
	cmd.Flags().BoolVar(&set.details, "details", false, "show the columns, and each step with its statements")
	cmd.Flags().BoolVar(&set.sql, "sql", false, "print the statements, with what each step locks, as SQL")
	cmd.Flags().BoolVar(&set.json, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&set.writeReferences, "write-references", "", "file to write for --references, with the listed columns as comments, to be edited by hand")
	cmd.MarkFlagsMutuallyExclusive("details", "sql", "json")
	return cmd
}

func (f *planFlags) print(cmd *cobra.Command, plan *sqlmigrate.Plan) error {
	text := ""
	switch {
	case f.json:
		return terminal.SayJSON(cmd.OutOrStdout(), planAsJSON(plan))
	case f.sql:
		text = plan.SQL()
	default:
		text = plan.Text(sqlmigrate.Style{
			Details: f.details, Width: min(terminal.Width(cmd.OutOrStdout()), 100),
			Reference: flags.Reference, NotReference: flags.NotReference,
		})
	}
	terminal.Say(cmd.OutOrStdout(), "%s", strings.TrimSuffix(text, "\n"))
	return nil
}

// planAsJSON returns the output of "migrate plan --json". In it, empty lists are [] and
// unknown numbers are null.
func planAsJSON(plan *sqlmigrate.Plan) any {
	return struct {
		Dialect       string   `json:"dialect"`
		Summary       any      `json:"summary"`
		Blockers      []any    `json:"blockers"`
		Omitted       []any    `json:"omitted"`
		Likely        []any    `json:"likely_references"`
		NotReferences []string `json:"not_references"`
		Notes         []string `json:"notes"`
		Tables        []any    `json:"tables"`
		Phases        []any    `json:"phases"`
	}{
		plan.Dialect, summaryAsJSON(plan), listed(plan.BlockingObjects(), blockerAsJSON), listed(plan.Omitted, omittedAsJSON),
		listed(plan.Likely, likelyAsJSON), texts(plan.NotReferences), texts(plan.Notes), listed(plan.Tables, tableAsJSON), listed(plan.Phases, phaseAsJSON),
	}
}

func summaryAsJSON(plan *sqlmigrate.Plan) any {
	rows, bytes, notAnalyzed := plan.Size()
	lock, phase := plan.LongestLock()
	return struct {
		Tables        int                  `json:"tables"`
		NotAnalyzed   int                  `json:"tables_not_analyzed"` // their rows are not included in Rows
		Rows          int64                `json:"rows"`
		Bytes         int64                `json:"bytes"`
		Statements    int                  `json:"statements"`
		EstimateMS    int64                `json:"estimate_ms"`
		LongestLockMS int64                `json:"longest_lock_ms"`
		LongestLockIn sqlmigrate.PhaseName `json:"longest_lock_in,omitempty"`
		DiskBytes     int64                `json:"disk_bytes"`
	}{
		len(plan.Tables), notAnalyzed, rows, bytes,
		statements(plan, upward), plan.Estimate().Milliseconds(), lock.Milliseconds(), phase, plan.Disk(),
	}
}

func blockerAsJSON(b sqlmigrate.BlockingObject) any {
	return struct {
		Object  string                 `json:"object"`
		Tables  []sqlmigrate.TableName `json:"tables"`
		Reasons []string               `json:"reasons"`
		Fix     string                 `json:"fix"`
	}(b)
}

func omittedAsJSON(o sqlmigrate.Omission) any {
	return struct {
		Phase  sqlmigrate.PhaseName `json:"phase"`
		Table  sqlmigrate.TableName `json:"table"`
		Object string               `json:"object"`
		Reason string               `json:"reason"`
		Fix    string               `json:"fix"`
	}{o.Phase, o.Table, o.Object, o.Reason, o.Fix}
}

func likelyAsJSON(l sqlmigrate.LikelyReference) any {
	l.Keys = texts(l.Keys)
	return struct {
		Column string   `json:"column"`
		Type   string   `json:"type"`
		Keys   []string `json:"keys"`
		Reason string   `json:"reason"`
		Change string   `json:"change,omitempty"`
	}(l)
}

func tableAsJSON(t sqlmigrate.Table) any {
	rows := &t.Rows
	if t.NotAnalyzed {
		rows = nil
	}
	return struct {
		Schema  string   `json:"schema,omitempty"`
		Name    string   `json:"name"`
		Rows    *int64   `json:"rows"`
		Bytes   int64    `json:"bytes"`
		MaxKey  types.ID `json:"max_key"`
		Columns []any    `json:"columns"`
	}{t.Schema, t.Name, rows, t.Bytes, t.MaxKey, listed(t.Columns, columnAsJSON)}
}

func columnAsJSON(c sqlmigrate.Column) any {
	c.Refers = texts(c.Refers)
	return struct {
		Name   string   `json:"name"`
		Type   string   `json:"type"`
		To     string   `json:"to,omitempty"`
		Key    bool     `json:"key"`
		Auto   string   `json:"auto,omitempty"`
		Refers []string `json:"refers"`
	}(c)
}

func phaseAsJSON(p sqlmigrate.Phase) any {
	return struct {
		Name        sqlmigrate.PhaseName `json:"name"`
		Transaction bool                 `json:"transaction"`
		Steps       []any                `json:"steps"`
		Check       []any                `json:"check"`
	}{p.Name, p.Transaction, listed(p.Steps, stepAsJSON), listed(p.Check, statementAsJSON)}
}

func stepAsJSON(s sqlmigrate.Step) any {
	return struct {
		Table      sqlmigrate.TableName `json:"table"`
		Text       string               `json:"text"`
		Locks      string               `json:"locks,omitempty"`
		Rewrites   bool                 `json:"rewrites"`
		Rows       int64                `json:"rows"`
		Bytes      int64                `json:"bytes"`
		EstimateMS int64                `json:"estimate_ms"`
		Up         []any                `json:"up"`
		Down       []any                `json:"down"`
	}{
		s.Table, s.Text, s.Locks, s.Rewrites, s.Rows, s.Bytes, s.Estimate.Milliseconds(),
		listed(s.Up, statementAsJSON), listed(s.Down, statementAsJSON),
	}
}

func statementAsJSON(s sqlmigrate.Statement) any {
	return struct {
		SQL    string `json:"sql"`
		Unless string `json:"unless,omitempty"`
	}(s)
}

// listed converts a list for JSON. Its result is never nil, so that JSON has [] and not
// null. The same is true of texts.
func listed[T any](list []T, convert func(T) any) []any {
	result := make([]any, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}

func texts(list []string) []string { return append([]string{}, list...) }
