package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// References holds the flags --reference, --not-reference and --references, and the flag
// --park. The first three say whether a column without a foreign key holds keys of a table.
type References struct {
	Park     bool
	named    []string // of --reference, such as orders.customer_id=customers.id
	excluded []string // of --not-reference, such as orders.legacy_id
	file     string   // the path of --references, or ""
}

// Register adds the flags to a command.
func (f *References) Register(cmd *cobra.Command) {
	flagSet := cmd.Flags()
	flagSet.BoolVar(&f.Park, "park", false, "the database still assigns keys, for old programs or gormflake.WithModels: its counters are parked above all IDs, in phase park instead of detach and guard")
	flagSet.StringArrayVar(&f.named, "reference", nil, "column that refers to a key without a constraint, as orders.customer_id=customers.id; may be repeated")
	flagSet.StringArrayVar(&f.excluded, "not-reference", nil, "column that holds no keys, though it looks like it, as orders.legacy_id; may be repeated")
	flagSet.StringVar(&f.file, "references", "", "TOML file with lists reference and not-reference, which replace these flags; \"migrate plan --write-references\" writes it")
	_ = cmd.MarkFlagFilename("references", "toml")
}

// Options returns the options of package sqlmigrate for the flags.
func (f *References) Options() ([]sqlmigrate.Option, error) {
	all, err := f.all()
	if err != nil {
		return nil, err
	}
	var options []sqlmigrate.Option
	for _, r := range all.Reference {
		column, key, found := strings.Cut(r, "=")
		if !found {
			return nil, terminal.Usagef("--reference %q: want column=key, such as orders.customer_id=customers.id", r)
		}
		options = append(options, sqlmigrate.WithReference(column, key))
	}
	for _, column := range all.NotReference {
		options = append(options, sqlmigrate.WithoutReference(column))
	}
	if f.Park {
		options = append(options, sqlmigrate.WithParkedCounters())
	}
	return options, nil
}

// Args returns the flags that are set in the form of arguments, such as "--reference",
// "orders.customer_id=customers.id". They belong to a command that the output tells the user
// to run next.
func (f *References) Args() []string {
	var args []string
	if f.Park {
		args = append(args, "--park")
	}
	if f.file != "" {
		args = append(args, "--references", f.file)
	}
	for _, r := range f.named {
		args = append(args, "--reference", r)
	}
	for _, column := range f.excluded {
		args = append(args, "--not-reference", column)
	}
	return args
}

// Reference returns the flag that names a column as a reference to the key, for example
// "--reference orders.customer_id=customers.id". The output shows it in a command for the
// user.
func Reference(column, key string) string { return "--reference " + column + "=" + key }

// NotReference returns the flag that says that a column holds no keys, for example
// "--not-reference orders.legacy_id".
func NotReference(column string) string { return "--not-reference " + column }

// Words replaces the names of sqlmigrate's options in a text by the names of flags, for
// example WithReference by --reference.
func Words(text string) string { return optionNames.Replace(text) }

// optionNames are the replacements of [Words], each an old text and a new text. The first
// pair that matches at a place is used, so an old text with "sqlmigrate:" stands before the
// same text without it.
var optionNames = strings.NewReplacer("sqlmigrate: FindReferences: ", "", "sqlmigrate: WithReference", "--reference", "sqlmigrate: WithoutReference", "--not-reference",
	"WithReference", "--reference", "WithoutReference", "--not-reference", "WithLayout", "--layout",
	"WithRecreateViews", "--recreate-views", "WithParkedCounters", "--park", "WithStall", "--stall", "WithPace", "--pace", "WithBatchRows", "--batch-rows",
	"OnlinePlan.Apply", "gormflake migrate online apply")

// Named returns err with the replacements of [Words] in its text. err must not be nil.
func Named(err error) error { return namedError{err} }

// A namedError is an error whose text names flags in place of sqlmigrate's options.
type namedError struct{ error }

func (e namedError) Error() string { return Words(e.error.Error()) }
func (e namedError) Unwrap() error { return e.error }
