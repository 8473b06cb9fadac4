package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// create are the statements that make the view what it was, but for its rules.
func (v *view) create() []string {
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	head := "CREATE " + v.kind() + " " + v.Target()
	definition := keepNameless(strings.TrimSuffix(strings.TrimSpace(v.Definition), ";"))
	if v.Materialized {
		say("%s", noTablespace)
		head += " USING " + pgsql.Quote(v.Method)
	}
	if len(v.Options) > 0 {
		head += " WITH (" + optionList(v.Options) + ")"
	}
	if v.Materialized && v.Tablespace != "" {
		head += " TABLESPACE " + pgsql.Quote(v.Tablespace)
	}
	switch {
	case v.Materialized && v.Populated:
		definition += "\n WITH DATA"
	case v.Materialized:
		definition += "\n WITH NO DATA"
	}
	say("%s AS\n%s", head, definition)
	say("ALTER %s %s OWNER TO %s", v.kind(), v.Target(), pgsql.Quote(v.Owner))
	for _, c := range v.Columns {
		texts = append(texts, v.column(c)...)
	}
	texts = append(texts, v.indexes...)
	for _, t := range v.Triggers {
		texts = append(texts, t.create("TRIGGER", v.Target())...)
	}
	return slices.Concat(texts, pgsql.Comment(v.kind()+" "+v.Target(), v.Comment), v.rights)
}

func (v *view) column(c viewColumn) []string {
	var texts []string
	alter := "ALTER " + v.kind() + " " + v.Target() + " ALTER COLUMN " + pgsql.Quote(c.Name)
	if c.Default != nil {
		texts = append(texts, alter+" SET DEFAULT "+*c.Default)
	}
	if c.Target >= 0 {
		texts = append(texts, fmt.Sprintf("%s SET STATISTICS %d", alter, c.Target))
	}
	if len(c.Options) > 0 {
		texts = append(texts, alter+" SET ("+optionList(c.Options)+")")
	}
	if c.Storage != "" {
		texts = append(texts, alter+" SET STORAGE "+c.Storage)
	}
	return append(texts, pgsql.Comment("COLUMN "+v.Target()+"."+pgsql.Quote(c.Name), c.Comment)...)
}

func (c *commented) create(kind, on string) []string {
	return append([]string{strings.TrimSuffix(c.Definition, ";")}, pgsql.Comment(kind+" "+pgsql.Quote(c.Name)+" ON "+on, c.Comment)...)
}

// optionList is for names and values as the catalog has them.
func optionList(options []string) string {
	return pgsql.Join(options, ", ", func(option string) string {
		name, value, _ := strings.Cut(option, "=")
		return name + " = " + pgsql.Literal(value)
	})
}

// withoutViews puts the steps between two that drop views and create them again.
// The views are dropped before the tables are locked, for a reader of a view
// locks the view first.
func withoutViews(batch []*table, steps []plan.Step, views []*view, locks []string) []plan.Step {
	var columns []*column
	for _, t := range batch {
		columns = append(columns, t.narrowColumns()...)
	}
	narrow := areNarrow(columns)
	list := engine.Count(len(views), "view") + " that would block it: " + pgsql.Join(views, ", ", func(v *view) string { return v.Display })
	step := func(what string, up, down []string) plan.Step {
		return plan.Step{
			Table: "views", Text: what + " " + list, Transaction: steps[0].Transaction,
			Locks: "ACCESS EXCLUSIVE on the views until the end of the transaction",
			Up:    engine.Statements("SELECT NOT "+narrow, up...),
			Down:  engine.Statements("SELECT "+narrow, down...),
		}
	}
	drop := func(ifExists string) []string {
		return []string{withinTimeout(slices.Concat(drops(views, ifExists), locks))}
	}
	creates := createAll(views)
	before, after := step("drop", drop(""), creates), step("create again", creates, drop("IF EXISTS "))
	before.Check = engine.Statements("", checkAll([]string{rejectNewViews(views)}))
	return slices.Concat([]plan.Step{before}, steps, []plan.Step{after})
}

// createAll creates the views, and then their rules, which can refer to any view.
func createAll(views []*view) []string {
	var texts []string
	for _, v := range views {
		texts = append(texts, v.create()...)
	}
	for _, v := range views {
		for _, r := range v.Rules {
			texts = append(texts, r.create("RULE", v.Target())...)
		}
	}
	return texts
}

// drops drop the views, and their rules first, in the opposite order of creation.
func drops(views []*view, ifExists string) []string {
	var texts []string
	for _, v := range views {
		texts = append(texts, "DROP "+v.kind()+" "+ifExists+v.Target())
	}
	for _, v := range views {
		for _, r := range v.Rules {
			texts = append(texts, "DROP RULE "+ifExists+pgsql.Quote(r.Name)+" ON "+v.Target())
		}
	}
	slices.Reverse(texts)
	return texts
}

// A constant in a SELECT has no name, which PostgreSQL writes without AS, and as
// its type: NULL::integer. Read again, that would be named after the type.
var nameless = regexp.MustCompile(`^(\s*(?:SELECT (?:DISTINCT )?)?(?:NULL|E?'(?:[^']|'')*')::([\w. ]+(?:\([\d,]+\)[\w ]*)?(?:\[\])*))((?:[,)].*)?)$`)

// keepNameless gives such constants of a definition the name that stands for none.
// A type in quotes stays as it is.
func keepNameless(definition string) string {
	lines := linesOutsideQuotes(definition)
	for i, line := range lines {
		if m := nameless.FindStringSubmatch(line); m != nil && !strings.Contains(m[2], " AS ") {
			lines[i] = m[1] + ` AS "?column?"` + m[3]
		}
	}
	return strings.Join(lines, "\n")
}

// linesOutsideQuotes cuts a text where a line ends that is not within a literal or a
// quoted name.
func linesOutsideQuotes(text string) []string {
	var lines []string
	begin, at := 0, 0
	for _, token := range append(sqltext.Scan(text, sqltext.Rules{}), sqltext.Token{Start: len(text)}) {
		for ; at < token.Start; at++ {
			if text[at] == '\n' {
				lines = append(lines, text[begin:at])
				begin = at + 1
			}
		}
		at = token.End
	}
	return append(lines, text[begin:])
}
