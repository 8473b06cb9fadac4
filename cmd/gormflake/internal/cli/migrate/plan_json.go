package migrate

import (
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

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
		plan.Dialect, summaryAsJSON(plan), convertAll(plan.BlockingObjects(), blockerAsJSON), convertAll(plan.Omitted, omittedAsJSON),
		convertAll(plan.Likely, likelyAsJSON), nonNil(plan.NotReferences), nonNil(plan.Notes), convertAll(plan.Tables, tableAsJSON), convertAll(plan.Phases, phaseAsJSON),
	}
}

// summaryAsJSON returns the totals of a plan, for example its rows, its statements and the
// longest time for which it holds a lock.
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
		countStatements(plan, upStatements), plan.Estimate().Milliseconds(), lock.Milliseconds(), phase, plan.Disk(),
	}
}

// blockerAsJSON returns an object that blocks a plan. It converts b to a struct with the same
// fields, which only adds the names for JSON. If somebody changes the fields of the plan's
// type, the conversion no longer compiles, so that the output of the command does not change
// by accident.
func blockerAsJSON(b sqlmigrate.BlockingObject) any {
	return struct {
		Object  string                 `json:"object"`
		Tables  []sqlmigrate.TableName `json:"tables"`
		Reasons []string               `json:"reasons"`
		Fix     string                 `json:"fix"`
	}(b)
}

// omittedAsJSON returns work that a phase leaves undone because of an object, such as a
// trigger.
func omittedAsJSON(o sqlmigrate.Omission) any {
	return struct {
		Phase  sqlmigrate.PhaseName `json:"phase"`
		Table  sqlmigrate.TableName `json:"table"`
		Object string               `json:"object"`
		Reason string               `json:"reason"`
		Fix    string               `json:"fix"`
	}{o.Phase, o.Table, o.Object, o.Reason, o.Fix}
}

// likelyAsJSON returns a column that is too narrow for a Snowflake ID and may hold keys,
// although no foreign key says so.
func likelyAsJSON(l sqlmigrate.LikelyReference) any {
	l.Keys = nonNil(l.Keys)
	return struct {
		Column string   `json:"column"`
		Type   string   `json:"type"`
		Keys   []string `json:"keys"`
		Reason string   `json:"reason"`
		Change string   `json:"change,omitempty"`
	}(l)
}

// tableAsJSON returns a table. The number of its rows is null if it was not analyzed.
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
	}{t.Schema, t.Name, rows, t.Bytes, t.MaxKey, convertAll(t.Columns, columnAsJSON)}
}

// columnAsJSON returns a column of a plan, which is a key or refers to keys.
func columnAsJSON(c sqlmigrate.Column) any {
	c.Refers = nonNil(c.Refers)
	return struct {
		Name   string   `json:"name"`
		Type   string   `json:"type"`
		To     string   `json:"to,omitempty"`
		Key    bool     `json:"key"`
		Auto   string   `json:"auto,omitempty"`
		Refers []string `json:"refers"`
	}(c)
}

// phaseAsJSON returns a phase of a plan with its steps and their statements.
func phaseAsJSON(p sqlmigrate.Phase) any {
	return struct {
		Name        sqlmigrate.PhaseName `json:"name"`
		Transaction bool                 `json:"transaction"`
		Steps       []any                `json:"steps"`
		Check       []any                `json:"check"`
	}{p.Name, p.Transaction, convertAll(p.Steps, stepAsJSON), convertAll(p.Check, statementAsJSON)}
}

// stepAsJSON returns a step with the statements that make its change, and the statements that
// take it back.
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
		convertAll(s.Up, statementAsJSON), convertAll(s.Down, statementAsJSON),
	}
}

// statementAsJSON returns a statement. Unless is a query that returns true if the statement
// has been done already.
func statementAsJSON(s sqlmigrate.Statement) any {
	return struct {
		SQL    string `json:"sql"`
		Unless string `json:"unless,omitempty"`
	}(s)
}

// convertAll converts the elements of a list for JSON. Its result is never nil, so that
// JSON has [] and not null.
func convertAll[T any](list []T, convert func(T) any) []any {
	result := make([]any, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}

// nonNil returns a copy of the list that is never nil, so that JSON has [] and not null.
func nonNil(list []string) []string { return append([]string{}, list...) }
