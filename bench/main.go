// Command bench measures gormflake side by side with its peers, and prints how
// they compare.
//
//	go run .
//
// takes about five minutes and wants a quiet machine. Ratios carry over to other
// machines, times do not; so a target that is missed fails only with -strict.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/bench/internal/peers"
)

func main() {
	reached, strict, err := run(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case strict && !reached:
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	runs   int
	only   []string
	dsns   []string
	quick  bool
	strict bool
	raw    bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 5, "how often everything is measured; the medians are shown")
	flags.Func("only", "measure only this `experiment`; may be repeated, a wrong name lists them", appendTo(&o.only))
	flags.Func("dsn", "also write orders to this `database`, mysql://… or postgres://…; may be repeated", appendTo(&o.dsns))
	flags.BoolVar(&o.quick, "quick", false, "few windows: shows that everything works, not how fast")
	flags.BoolVar(&o.raw, "raw", false, "measure once, in this very build, and print the numbers as JSON")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 if a target is missed")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q: want flags only", flags.Arg(0))
	}
	if o.runs < 1 {
		return o, fmt.Errorf("-runs %d: want at least 1", o.runs)
	}
	return o, nil
}

func appendTo(list *[]string) func(string) error {
	return func(s string) error {
		*list = append(*list, s)
		return nil
	}
}

func run(args []string) (reached, strict bool, err error) {
	o, err := parse(args)
	if err != nil {
		return false, false, err
	}
	file, remove, err := temporaryFile()
	if err != nil {
		return false, o.strict, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	o.dsns = append([]string{file}, o.dsns...)
	experiments, err := open(o)
	if err != nil {
		return false, o.strict, err
	}
	here := func(int) ([]sample, error) { return once(experiments, effort{quick: o.quick}) }
	if o.raw {
		return true, false, printRaw(here)
	}
	if !o.quick {
		here = func(run int) ([]sample, error) { return placed(run, args) }
	}
	reports, err := measure(experiments, o.runs, here)
	if err != nil {
		return false, o.strict, err
	}
	text, reached := render(machine(args), reports)
	fmt.Print(text)
	return reached, o.strict, nil
}

// open makes the experiments that were asked for.
func open(o options) ([]experiment, error) {
	contenders, err := peers.Open()
	if err != nil {
		return nil, err
	}
	all := []experiment{burst(contenders), request(contenders), parallel(contenders), saturate(contenders)}
	for _, make := range []func() (experiment, error){batch, lag, micro, plugin} {
		x, err := make()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	writing, err := orders(o.dsns)
	if err != nil {
		return nil, err
	}
	return choose(append(all, writing...), o.only)
}

func choose(all []experiment, only []string) ([]experiment, error) {
	if len(only) == 0 {
		return all, nil
	}
	var names []string
	for _, x := range all {
		names = append(names, x.name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-only %s: want one of %s", name, strings.Join(slices.Compact(names), ", "))
		}
	}
	return slices.DeleteFunc(all, func(x experiment) bool { return !slices.Contains(only, x.name) }), nil
}

// placed takes one run from a build of its own, for which the linker has
// shuffled the functions. Where a loop happens to lie costs or saves any
// contender up to 5 %, and does so alike in all runs of one build: it would look
// like a result. From build to build it shows as spread. (Mytkowicz and others,
// "Producing Wrong Data Without Doing Anything Obviously Wrong!", 2009.)
func placed(run int, args []string) (samples []sample, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "bench.exe")
	if _, err := output("go", "build", "-ldflags=-randlayout="+strconv.Itoa(run+1), "-o", binary, "."); err != nil {
		return nil, fmt.Errorf("building run %d, which works in the folder of this command only: %w", run+1, err)
	}
	text, err := output(binary, append(args, "-raw")...)
	if err != nil {
		return nil, err
	}
	return samples, json.Unmarshal(text, &samples)
}

func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func printRaw(measure func(int) ([]sample, error)) error {
	samples, err := measure(0)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(samples)
}

// machine says what the figures were measured on, and by which command.
func machine(args []string) string {
	command := strings.Join(append([]string{"go run ."}, args...), " ")
	return fmt.Sprintf("%s, %d CPUs, %s, %s/%s, `%s`",
		cpuModel(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, command)
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
