package flags

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoVariable is the annotation of a flag without an environment variable. The flag --table of
// parse has it, because $GORMFLAKE_TABLE is the table of the workers for other commands.
const NoVariable = "no variable"

// fromEnvironment is the annotation of a flag that an environment variable has set.
const fromEnvironment = "from the environment"

// Variable returns the name of the environment variable of a flag, for example
// GORMFLAKE_MAX_COUNT for --max-count. It returns "" if the flag has no variable.
func Variable(f *pflag.Flag) string {
	if _, none := f.Annotations[NoVariable]; none || f.Name == "help" || f.Name == "version" {
		return ""
	}
	return "GORMFLAKE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// Environment sets the flags that are not on the command line from their environment
// variables. It ignores empty variables. It also ignores a variable whose flag excludes a
// flag on the command line, as $GORMFLAKE_DSN does if --dsn-file is given.
func Environment(cmd *cobra.Command) error {
	given := map[*pflag.Flag]bool{} // the flags on the command line
	cmd.Flags().Visit(func(f *pflag.Flag) { given[f] = true })
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(Variable(f))
		if text == "" || given[f] || excludedBy(cmd, f, given) {
			return
		}
		if err := setFrom(cmd, f, text); err != nil {
			errs = append(errs, fmt.Errorf("$%s: %w", Variable(f), err))
		}
		_ = cmd.Flags().SetAnnotation(f.Name, fromEnvironment, nil)
	})
	return errors.Join(errs...)
}

// setFrom sets a flag to the text of its environment variable. If the flag may be repeated
// on a command line, it sets the flag once for each line of the text.
func setFrom(cmd *cobra.Command, f *pflag.Flag, text string) error {
	lines := []string{text}
	if strings.HasSuffix(f.Value.Type(), "Array") { // such as stringArray, pflag's type for these flags
		lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	for _, line := range lines {
		if err := cmd.Flags().Set(f.Name, line); err != nil {
			return err
		}
	}
	return nil
}

// excludedBy reports whether f must not be given together with a flag of given, which holds
// the flags on the command line.
func excludedBy(cmd *cobra.Command, f *pflag.Flag, given map[*pflag.Flag]bool) bool {
	// Cobra stores the groups of MarkFlagsMutuallyExclusive under this key, each as the
	// names of its flags with spaces between them.
	const groups = "cobra_annotation_mutually_exclusive"
	return slices.ContainsFunc(f.Annotations[groups], func(group string) bool {
		for name := range strings.FieldsSeq(group) {
			if given[cmd.Flags().Lookup(name)] {
				return true
			}
		}
		return false
	})
}

// OnCommandLine reports whether the flag is on the command line. In contrast,
// [pflag.FlagSet.Changed] is also true for a flag that an environment variable has set.
func OnCommandLine(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	_, byVariable := f.Annotations[fromEnvironment]
	return f.Changed && !byVariable
}
