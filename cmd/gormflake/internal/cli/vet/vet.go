// Package vet finds mistakes in Go programs that gormflake cannot detect at run time,
// because keys lose digits or are read as another type without an error.
//
// The rules are analyzers, and the variable rules lists them. Most of them ask a [program]
// whether a number is a key. A program is learned in three steps:
//
//   - lists.go finds the models that gormflake.WithModels lists, and models.go and types.go
//     find their keys, the keys of tagged models, and the foreign keys that refer to them.
//   - flow.go records how numbers go through variables, fields, parameters and results.
//     queries.go records which numbers are arguments for a key in a query of GORM.
//   - followKeys in program.go follows these records from the keys, forward to places whose
//     numbers were keys before, and backward to places whose numbers become keys.
//
// The rules are then short. The rules for types and parsers with fewer than 64 bits are in
// widths.go, for keys that are written as a number in literals.go, for JSON, requests and
// tokens in json.go, for texts and values of type any in values.go, and for models in
// models.go.
//
// The command loads all packages, in load.go, and learns one program from them, because
// the list of models, the models and the code that uses them are usually in different
// packages. With go vet -vettool, the rules run on one package at a time. They then know only
// the models that are tagged, and the models that this package lists.
package vet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// help is the long help of the command. Its %s stands for a line for each rule.
const help = `Report in Go packages what loses digits of keys, and change nothing:

%s
The models are those with the tag snowflake:"pk" and those that a package lists by
gormflake.WithModels. So take all packages of the program together. Without PACKAGE it
takes those of the current folder and below. It needs the go command.

  go vet -vettool=$(which gormflake) ./...
runs the same rules in one package after another, and then sees only the lists of the
package itself.

The exit code is 0 if nothing is found, 3 if something is, and 1 if a package cannot
be loaded.`

// rules are the rules of the command. Each rule is an analyzer that reports one kind of
// mistake, which the comment of the rule's variable describes.
var rules = []*analysis.Analyzer{plugin, list, foreignKey, parse, parseWidth, narrow, literal, seed, untyped, jsonMap, jsonFloat, jsonString, request, claim}

// ruleNames returns the names of the rules, for example narrow, which --skip-rules accepts.
func ruleNames() (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

// vetFlags holds the flags of the command.
type vetFlags struct {
	tags string   // build tags, with commas between them
	skip []string // names of rules
	json bool
}

// New returns the command vet.
func New() *cobra.Command {
	var ruleLines strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&ruleLines, "  %-11s %s\n", r.Name, r.Doc)
	}
	var f vetFlags
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Report in Go packages what loses digits of keys",
		Long:  fmt.Sprintf(help, &ruleLines),
		Example: `  gormflake vet ./...
  gormflake vet --tags integration --json ./...
  gormflake vet --skip-rules seed,claim ./...`,
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.tags, "tags", "", "build tags, with commas between them; also -tags, as the go command has it")
	cmd.Flags().StringSliceVar(&f.skip, "skip-rules", nil, "rules to leave out, with commas between them")
	_ = cmd.RegisterFlagCompletionFunc("skip-rules", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// WithLongTags returns args, the arguments of the program, with --tags in place of -tags if
// the command is vet. The go command spells the flag -tags, which Cobra would read as the
// one-letter flags -t, -a, -g and -s.
func WithLongTags(args []string) []string {
	if len(args) == 0 || args[0] != "vet" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "-tags" || strings.HasPrefix(arg, "-tags=") {
			args[i] = "-" + arg
		}
	}
	return args
}

// A finding is a report of a rule at a position.
type finding struct {
	Rule    string `json:"rule"`
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Text    string `json:"text"`
}

// run prints the findings in the packages that match the patterns. The default is ./...,
// the packages of the current folder and below. It returns [terminal.ErrFindings], for the
// exit code, if there is a finding.
func (f *vetFlags) run(cmd *cobra.Command, patterns []string) error {
	for _, name := range f.skip {
		if !slices.Contains(ruleNames(), name) {
			return terminal.Usagef("--skip-rules %s: no rule has this name; see %q", name, "gormflake vet --help")
		}
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	found, err := f.vet(cmd.Context(), patterns)
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), found); err != nil || len(found) == 0 {
		return err
	}
	return terminal.ErrFindings
}

// vet loads the packages that match the patterns, and runs the rules on them. It returns the
// findings in the order of their positions, without the findings of --skip-rules.
func (f *vetFlags) vet(ctx context.Context, patterns []string) ([]finding, error) {
	const currentFolder = ""
	loaded, err := load(ctx, currentFolder, f.tags, patterns)
	if err != nil {
		return nil, err
	}
	found, err := analyze(loaded)
	found = slices.DeleteFunc(found, func(item finding) bool { return slices.Contains(f.skip, item.Rule) })
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Rule, b.Rule))
	})
	return found, err
}

// relative returns the path of the file relative to the current folder, if the file is in
// that folder or below it. Otherwise it returns the path as it is.
func relative(file string) string {
	folder, err := os.Getwd()
	if err != nil {
		return file
	}
	if path, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(path) {
		return path
	}
	return file
}

// print prints the findings as lines or as a JSON object.
func (f *vetFlags) print(out io.Writer, found []finding) error {
	if f.json {
		found = append([]finding{}, found...) // not nil, so that JSON has [] instead of null
		return terminal.SayJSON(out, map[string]any{"findings": found})
	}
	for _, item := range found {
		terminal.Say(out, "%s:%d:%d: %s", item.File, item.Line, item.Column, item.Text)
	}
	return nil
}

// IsTool reports whether the go command runs the program as a tool of go vet, by the
// protocol of package unitchecker. The last of the arguments is then -V=full, -flags or a
// file such as /tmp/b001/vet.cfg, and only flags and their values come before it. A command
// line of gormflake can also end with such a file, as "parse app.cfg" does, but it begins
// with the name of a command instead of a flag.
func IsTool(args []string) bool {
	if len(args) == 0 || len(args) > 1 && !strings.HasPrefix(args[0], "-") {
		return false
	}
	last := args[len(args)-1]
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// Tool runs the rules on one package, as a tool of go vet does. It ends the process.
func Tool() { unitchecker.Main(rules...) }
