package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A selection holds the values of --schema and --tables, which select tables by their schema
// or by a pattern such as public.order*.
type selection struct{ schemas, patterns []string }

// register adds the flags to a command.
func (s *selection) register(cmd *cobra.Command) {
	flagSet := cmd.Flags()
	flagSet.StringArrayVar(&s.schemas, "schema", nil, "take every table of this schema whose primary key begins with an integer; may be repeated")
	flagSet.StringArrayVar(&s.patterns, "tables", nil, "take those that match a pattern with * and ?, as 'public.*' or 'order*'; may be repeated")
}

// allPatterns returns the patterns of --tables and, for each --schema, a pattern for all of its
// tables, such as shop.*.
func (s *selection) allPatterns() []string {
	patterns := slices.Clone(s.patterns)
	for _, schema := range s.schemas {
		patterns = append(patterns, plan.QuoteDotted(schema)+".*")
	}
	return patterns
}

// args returns the selection in the form of arguments, for a command that the user can copy to
// a shell, for example --tables='shop.*'.
func (s *selection) args() []string {
	args := s.allPatterns()
	for i, pattern := range args {
		args[i] = "--tables='" + pattern + "'"
	}
	return args
}

// targets returns the named tables and the tables that the patterns select, in the form
// that package sqlmigrate accepts.
func (s *selection) targets(ctx context.Context, db *gorm.DB, named []string) ([]any, error) {
	var targets []any
	for _, name := range named {
		targets = append(targets, name)
	}
	for _, pattern := range s.allPatterns() {
		found, err := matchTables(ctx, db, pattern)
		if err != nil {
			return nil, fmt.Errorf("tables %q: %w", pattern, err)
		}
		targets = append(targets, found...)
	}
	return targets, nil
}

// matchTables returns the names of the tables that match a pattern, such as shop.order*, and
// whose primary key begins with an integer. It leaves out tables that notSelected matches,
// such as those of migration tools. It returns an error if no table is left.
func matchTables(ctx context.Context, db *gorm.DB, pattern string) (names []any, err error) {
	schema, name := cutSchema(pattern)
	// The connection need not be set to read only, because Tables only reads.
	all, err := (&readonly.Database{Ctx: ctx, DB: db, Dialect: db.Name()}).Tables(schema)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		matches, err := path.Match(name, t.Name)
		if err != nil {
			return nil, terminal.Usage(err)
		}
		if matches && !notSelected.MatchString(t.Name) {
			names = append(names, t.String())
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no table with a primary key that begins with an integer")
	}
	return names, nil
}

// notSelected matches tables that a pattern does not select. They belong to the migration
// tools goose and golang-migrate, to package sqlmigrate, or to an online move, as the copy
// _orders_sfnew of a table does.
var notSelected = regexp.MustCompile(`^(goose_db_version|schema_migrations|sqlmigrate_\w+|_.*_sf(new|old))$`)

// cutSchema divides a pattern at its first dot into the schema and the pattern for a name,
// such as shop and order*. A schema whose name has a dot is quoted, as in "a.b".orders. The
// schema is "", the current schema, if there is no dot.
func cutSchema(pattern string) (schema, name string) {
	if quoted, ok := strings.CutPrefix(pattern, `"`); ok {
		if schema, name, ok = strings.Cut(quoted, `".`); ok {
			return schema, name
		}
	}
	if schema, name, ok := strings.Cut(pattern, "."); ok {
		return schema, name
	}
	return "", pattern
}
