// Package vet finds in Go programs what gormflake cannot find while they run: keys
// that lose digits, or are read as another type than they are, without an error. Each
// rule is an analyzer of its own, which looks at one package. The program is its own
// tool for go vet, which loads the packages and keeps what was found before.
package vet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

const help = `Report in Go packages what loses digits of keys, and changes nothing:

%s
It runs "go vet" with this program as its tool, and needs the go command. Without
PACKAGE it takes those of the current folder and below. In other words:
  go vet -vettool=$(which gormflake) ./...`

// rules are all analyzers.
var rules = []*analysis.Analyzer{plugin, foreignKey, parse, narrow, untyped, jsonMap, jsonString}

// New returns the command vet.
func New() *cobra.Command {
	var list strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&list, "  %-11s %s\n", r.Name, r.Doc)
	}
	return &cobra.Command{
		Use:     "vet [PACKAGE...]",
		Short:   "Report in Go packages what loses digits of keys",
		Long:    fmt.Sprintf(help, &list),
		Example: "  gormflake vet ./...",
		RunE:    run,
	}
}

func run(cmd *cobra.Command, packages []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	goVet := exec.CommandContext(cmd.Context(), "go", slices.Concat([]string{"vet", "-vettool=" + self}, packages)...)
	goVet.Stdout, goVet.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = goVet.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("want the go command, which loads the packages: %w", err)
	case errors.As(err, &exit):
		return errors.New("go vet does not pass")
	}
	return err
}

// IsTool reports whether the go command runs the program as the tool of go vet, by the
// protocol of package unitchecker: with flags alone, or with flags and a file. No
// command of gormflake is called like that.
func IsTool(args []string) bool {
	if len(args) == 0 || slices.ContainsFunc(args[:len(args)-1], func(arg string) bool { return !strings.HasPrefix(arg, "-") }) {
		return false
	}
	last := args[len(args)-1]
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// Tool is the program as that tool. It does not return.
func Tool() { unitchecker.Main(rules...) }
