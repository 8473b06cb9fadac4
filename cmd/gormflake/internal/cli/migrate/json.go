package migrate

import (
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

// planJSON is the form of "migrate plan --json". Lists that have nothing are empty,
// and numbers that are not known are null.
type planJSON struct {
	Dialect       string        `json:"dialect"`
	Summary       summaryJSON   `json:"summary"`
	Blockers      []blockerJSON `json:"blockers"`
	Omitted       []omittedJSON `json:"omitted"`
	Likely        []likelyJSON  `json:"likely_references"`
	NotReferences []string      `json:"not_references"`
	Notes         []string      `json:"notes"`
	Tables        []tableJSON   `json:"tables"`
	Phases        []phaseJSON   `json:"phases"`
}

type summaryJSON struct {
	Tables        int    `json:"tables"`
	NotAnalyzed   int    `json:"tables_not_analyzed"` // whose rows are not in the next number
	Rows          int64  `json:"rows"`
	Bytes         int64  `json:"bytes"`
	Statements    int    `json:"statements"`
	EstimateMS    int64  `json:"estimate_ms"`
	LongestLockMS int64  `json:"longest_lock_ms"`
	LongestLockIn string `json:"longest_lock_in,omitempty"`
	DiskBytes     int64  `json:"disk_bytes"`
}

type blockerJSON struct {
	Object  string   `json:"object"`
	Tables  []string `json:"tables"`
	Reasons []string `json:"reasons"`
	Fix     string   `json:"fix"`
}

type omittedJSON struct {
	Phase  string `json:"phase"`
	Table  string `json:"table"`
	Object string `json:"object"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

type likelyJSON struct {
	Column string   `json:"column"`
	Type   string   `json:"type"`
	Keys   []string `json:"keys"`
	Reason string   `json:"reason"`
	Change string   `json:"change,omitempty"`
}

type tableJSON struct {
	Schema  string       `json:"schema,omitempty"`
	Name    string       `json:"name"`
	Rows    *int64       `json:"rows"`
	Bytes   int64        `json:"bytes"`
	MaxKey  types.ID     `json:"max_key"`
	Columns []columnJSON `json:"columns"`
}

type columnJSON struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	To     string   `json:"to,omitempty"`
	Key    bool     `json:"key"`
	Auto   string   `json:"auto,omitempty"`
	Refers []string `json:"refers"`
}

type phaseJSON struct {
	Name        string          `json:"name"`
	Transaction bool            `json:"transaction"`
	Steps       []stepJSON      `json:"steps"`
	Check       []statementJSON `json:"check"`
}

type stepJSON struct {
	Table      string          `json:"table"`
	Text       string          `json:"text"`
	Locks      string          `json:"locks,omitempty"`
	Rewrites   bool            `json:"rewrites"`
	Rows       int64           `json:"rows"`
	Bytes      int64           `json:"bytes"`
	EstimateMS int64           `json:"estimate_ms"`
	Up         []statementJSON `json:"up"`
	Down       []statementJSON `json:"down"`
}

type statementJSON struct {
	SQL    string `json:"sql"`
	Unless string `json:"unless,omitempty"`
}

func planAsJSON(plan *sqlmigrate.Plan) planJSON {
	return planJSON{
		Dialect:       plan.Dialect,
		Summary:       summaryAsJSON(plan),
		Blockers:      listed(plan.BlockingObjects(), func(b sqlmigrate.BlockingObject) blockerJSON { return blockerJSON(b) }),
		Omitted:       listed(plan.Omitted, omittedAsJSON),
		Likely:        listed(plan.Likely, likelyAsJSON),
		NotReferences: listed(plan.NotReferences, same),
		Notes:         listed(plan.Notes, same),
		Tables:        listed(plan.Tables, tableAsJSON),
		Phases:        listed(plan.Phases, phaseAsJSON),
	}
}

func summaryAsJSON(plan *sqlmigrate.Plan) summaryJSON {
	rows, bytes, notAnalyzed := plan.Size()
	lock, phase := plan.LongestLock()
	return summaryJSON{
		Tables: len(plan.Tables), NotAnalyzed: notAnalyzed, Rows: rows, Bytes: bytes,
		Statements: statements(plan, upward), EstimateMS: plan.Estimate().Milliseconds(),
		LongestLockMS: lock.Milliseconds(), LongestLockIn: string(phase), DiskBytes: plan.Disk(),
	}
}

func omittedAsJSON(o sqlmigrate.Omission) omittedJSON {
	return omittedJSON{string(o.Phase), o.Table, o.Object, o.Reason, o.Fix}
}

func likelyAsJSON(l sqlmigrate.LikelyReference) likelyJSON {
	return likelyJSON{l.Column, l.Type, listed(l.Keys, same), l.Reason, l.Change}
}

func tableAsJSON(t sqlmigrate.Table) tableJSON {
	table := tableJSON{Schema: t.Schema, Name: t.Name, Rows: &t.Rows, Bytes: t.Bytes, MaxKey: t.MaxKey, Columns: listed(t.Columns, columnAsJSON)}
	if t.NotAnalyzed {
		table.Rows = nil
	}
	return table
}

func columnAsJSON(c sqlmigrate.Column) columnJSON {
	return columnJSON{c.Name, c.Type, c.To, c.Key, c.Auto, listed(c.Refers, same)}
}

func phaseAsJSON(p sqlmigrate.Phase) phaseJSON {
	return phaseJSON{string(p.Name), p.Transaction, listed(p.Steps, stepAsJSON), listed(p.Check, statementAsJSON)}
}

func stepAsJSON(s sqlmigrate.Step) stepJSON {
	return stepJSON{
		Table: s.Table, Text: s.Text, Locks: s.Locks, Rewrites: s.Rewrites, Rows: s.Rows, Bytes: s.Bytes,
		EstimateMS: s.Estimate.Milliseconds(), Up: listed(s.Up, statementAsJSON), Down: listed(s.Down, statementAsJSON),
	}
}

func statementAsJSON(s sqlmigrate.Statement) statementJSON { return statementJSON(s) }

func same(text string) string { return text }

// listed is never null.
func listed[From, To any](list []From, convert func(From) To) []To {
	result := make([]To, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}
