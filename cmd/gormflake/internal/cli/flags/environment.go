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

// NoVariable marks a flag that no environment variable sets, because another command
// has a flag of that name and another type.
const NoVariable = "no variable"

// fromEnvironment marks a flag whose value an environment variable has set.
const fromEnvironment = "from the environment"

// Variable returns the name of the environment variable of a flag, for example
// GORMFLAKE_MAX_COUNT of --max-count, and "" if the flag has none.
func Variable(f *pflag.Flag) string {
	if _, none := f.Annotations[NoVariable]; none || f.Name == "help" || f.Name == "version" {
		return ""
	}
	return "GORMFLAKE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// Environment sets the flags that the command line leaves out from their environment
// variables. A variable that is empty counts as not set, and one whose flag excludes a
// flag of the command line is ignored.
func Environment(cmd *cobra.Command) error {
	given := map[*pflag.Flag]bool{}
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

// setFrom sets a flag that may be repeated once for each line of the text.
func setFrom(cmd *cobra.Command, f *pflag.Flag, text string) error {
	lines := []string{text}
	if strings.HasSuffix(f.Value.Type(), "Array") {
		lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	for _, line := range lines {
		if err := cmd.Flags().Set(f.Name, line); err != nil {
			return err
		}
	}
	return nil
}

// excludedBy reports whether a flag of the command line excludes f.
func excludedBy(cmd *cobra.Command, f *pflag.Flag, given map[*pflag.Flag]bool) bool {
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

// OnCommandLine reports whether the command line has the flag. [pflag.FlagSet.Changed]
// is also true for a flag that its environment variable has set.
func OnCommandLine(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	_, variable := f.Annotations[fromEnvironment]
	return f.Changed && !variable
}
