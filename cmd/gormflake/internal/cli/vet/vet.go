// Package vet finds mistakes in Go programs that gormflake cannot detect at run time,
// because keys lose digits or are read as another type without an error. Each rule is an
// analyzer for a single package. The command runs go vet with this program as its tool.
// go vet loads the packages and caches the results.
package vet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

const help = `Report in Go packages what loses digits of keys, and change nothing:

%s
It runs "go vet" with this program as its tool, and needs the go command. Without
PACKAGE it takes those of the current folder and below. In other words:
  go vet -vettool=$(which gormflake) ./...

The exit code is 0 if nothing is found, 3 if something is, and 1 if a package cannot
be loaded.`

// rules are all analyzers.
var rules = []*analysis.Analyzer{plugin, foreignKey, parse, narrow, untyped, jsonMap, jsonString}

type vetFlags struct {
	tags string
	json bool
}

// New returns the command vet.
func New() *cobra.Command {
	var list strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&list, "  %-11s %s\n", r.Name, r.Doc)
	}
	var f vetFlags
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Report in Go packages what loses digits of keys",
		Long:  fmt.Sprintf(help, &list),
		Example: `  gormflake vet ./...
  gormflake vet --tags integration --json ./...`,
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.tags, "tags", "", "build tags, with commas between them; also -tags, as the go command has it")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// WithLongTags returns the arguments of the program. For vet it replaces -tags, which is
// the spelling of the go command, by --tags.
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

// run prints the findings in the packages, or in those of the current folder and below.
func (f *vetFlags) run(cmd *cobra.Command, packages []string) error {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	found, err := f.vet(cmd.Context(), packages)
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), found); err != nil || len(found) == 0 {
		return err
	}
	return terminal.ErrFindings
}

// vet runs go vet and returns its findings. go vet prints a JSON object for each package.
// Go 1.26 prints it to standard output, older versions to standard error.
func (f *vetFlags) vet(ctx context.Context, packages []string) ([]finding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of this program: %w", err)
	}
	args := []string{"vet", "-json", "-vettool=" + self}
	if f.tags != "" {
		args = append(args, "-tags="+f.tags)
	}
	output, err := exec.CommandContext(ctx, "go", append(args, packages...)...).CombinedOutput()
	found, rest := findings(output)
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("want the go command, which loads the packages: %w", err)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("go vet cannot load the packages: %s", rest)
	}
	return found, err
}

// findings parses the output of go vet, which consists of JSON objects and text. It
// returns the text as well. A file can belong to a package and to the package's test
// variant; its findings are returned once.
func findings(output []byte) (found []finding, text string) {
	var rest strings.Builder
	seen := map[string]bool{}
	// A JSON object begins at the beginning of a line. A line that begins with "# " names
	// the package of the object that follows.
	for lines := output; len(lines) > 0; {
		decoder := json.NewDecoder(bytes.NewReader(lines))
		var object map[string]map[string]json.RawMessage
		if lines[0] == '{' && decoder.Decode(&object) == nil {
			for pkg, rules := range object {
				found = append(found, packageFindings(pkg, rules, seen)...)
			}
			lines = bytes.TrimLeft(lines[decoder.InputOffset():], "\n")
			continue
		}
		line, after, _ := bytes.Cut(lines, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("# ")) {
			rest.Write(append(line, '\n'))
		}
		lines = after
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Rule, b.Rule))
	})
	return found, rest.String()
}

// packageFindings returns the findings in the JSON object of a package, except those in
// seen. It adds them to seen.
func packageFindings(pkg string, rules map[string]json.RawMessage, seen map[string]bool) (found []finding) {
	pkg, _, _ = strings.Cut(pkg, " [") // go vet calls a test variant "path [path.test]"
	for rule, raw := range rules {
		var all []struct{ Posn, Message string }
		if json.Unmarshal(raw, &all) != nil {
			continue // the value is an error of the rule
		}
		for _, report := range all {
			if id := rule + report.Posn + report.Message; !seen[id] {
				seen[id] = true
				file, line, column := position(report.Posn)
				found = append(found, finding{rule, pkg, file, line, column, report.Message})
			}
		}
	}
	return found
}

// position parses file:line:column. It makes a file below the current folder relative to
// it.
func position(text string) (file string, line, column int) {
	rest, last := cutLast(text)
	file, middle := cutLast(rest)
	line, _ = strconv.Atoi(middle)
	column, _ = strconv.Atoi(last)
	if folder, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(folder, file); err == nil && !strings.HasPrefix(relative, "..") {
			file = relative
		}
	}
	return file, line, column
}

// cutLast cuts the text at its last colon. Without a colon, before is the whole text.
func cutLast(text string) (before, after string) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// print prints the findings as lines or as a JSON object.
func (f *vetFlags) print(out io.Writer, found []finding) error {
	if f.json {
		return terminal.SayJSON(out, map[string]any{"findings": append([]finding{}, found...)})
	}
	for _, item := range found {
		terminal.Say(out, "%s:%d:%d: %s", item.File, item.Line, item.Column, item.Text)
	}
	return nil
}

// IsTool reports whether the go command runs the program as a tool of go vet, by the
// protocol of package unitchecker. The arguments are then flags alone, or flags and a
// file. A flag may be separate from its value, as in -tags more. No command of gormflake
// has such arguments.
func IsTool(args []string) bool {
	if len(args) == 0 || len(args) > 1 && !strings.HasPrefix(args[0], "-") {
		return false
	}
	last := args[len(args)-1]
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// Tool runs the program as a tool of go vet. It does not return.
func Tool() { unitchecker.Main(rules...) }
