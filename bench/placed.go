package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

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
		return nil, fmt.Errorf("building run %d anew, which works in the folder of this command only: %w", run+1, err)
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
