// Package vet finds in Go programs what gormflake cannot find while they run: keys
// that lose digits, or are read as another type than they are, without an error. Each
// rule is an analyzer of its own, which looks at one package. The program is its own
// tool for go vet, which loads the packages and keeps what was found before.
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

// Arguments returns the arguments of the program with "-tags" of the go command as the
// flag --tags of vet.
func Arguments(args []string) []string {
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

// A finding is what one rule reports at one place.
type finding struct {
	Rule    string `json:"rule"`
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Text    string `json:"text"`
}

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

// vet runs go vet, whose output has an object of JSON for each package. Go 1.26 writes
// it to standard output, and older ones to standard error.
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

// findings reads what go vet has printed: objects of JSON, and text between them, which
// it returns as well. It reports a place once if it is in a package and in its tests.
func findings(output []byte) (found []finding, text string) {
	var rest strings.Builder
	seen := map[string]bool{}
	for lines := output; len(lines) > 0; {
		decoder := json.NewDecoder(bytes.NewReader(lines))
		var object map[string]map[string]json.RawMessage
		if lines[0] == '{' && decoder.Decode(&object) == nil {
			for pkg, rules := range object {
				found = append(found, ofPackage(pkg, rules, seen)...)
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

func ofPackage(pkg string, rules map[string]json.RawMessage, seen map[string]bool) (found []finding) {
	pkg, _, _ = strings.Cut(pkg, " [") // of the variant for tests
	for rule, raw := range rules {
		var all []struct{ Posn, Message string }
		if json.Unmarshal(raw, &all) != nil {
			continue // an error of the rule
		}
		for _, one := range all {
			if id := rule + one.Posn + one.Message; !seen[id] {
				seen[id] = true
				file, line, column := position(one.Posn)
				found = append(found, finding{rule, pkg, file, line, column, one.Message})
			}
		}
	}
	return found
}

// position reads file:line:column, and makes the file relative to the current folder.
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

// cutLast cuts the text at its last colon. Without a colon it returns the whole text.
func cutLast(text string) (before, after string) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

func (f *vetFlags) print(out io.Writer, found []finding) error {
	if f.json {
		return terminal.SayJSON(out, map[string]any{"findings": append([]finding{}, found...)})
	}
	for _, one := range found {
		terminal.Say(out, "%s:%d:%d: %s", one.File, one.Line, one.Column, one.Text)
	}
	return nil
}

// IsTool reports whether the go command runs the program as the tool of go vet, by the
// protocol of package unitchecker: with flags alone, or with flags and a file. A flag may
// stand apart from its value, as in -tags more. No command of gormflake is called like
// that.
func IsTool(args []string) bool {
	if len(args) == 0 || len(args) > 1 && !strings.HasPrefix(args[0], "-") {
		return false
	}
	last := args[len(args)-1]
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// Tool is the program as that tool. It does not return.
func Tool() { unitchecker.Main(rules...) }
