package main

import (
	"bytes"
	"log"
	"os"
	"regexp"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// TestRun checks that the processes get the worker one after another, and that the keys rise
// although all processes issue under one worker.
func TestRun(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // the same on Windows
	var out bytes.Buffer
	if err := run(t.Context(), log.New(&out, "", 0)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	story := regexp.MustCompile(`(?s)A has leased .*A has written order (\d+), worker 0\n.*A dies.*` +
		`B waits: lease: no free worker.*B has leased .*B has written order (\d+), worker 0\n.*` +
		`A wakes up and wants an ID: snowflake: worker's window has ended.*B has closed.*` +
		`C has leased .*C has written order (\d+), worker 0\n.* that A, B, C wrote\n.*C has closed`)
	keys := story.FindStringSubmatch(out.String())
	if keys == nil {
		t.Fatalf("output is not %s:\n%s", story, &out)
	}
	a, b, c := types.MustParseID(keys[1]), types.MustParseID(keys[2]), types.MustParseID(keys[3])
	if a >= b || b >= c {
		t.Errorf("keys %d, %d, %d: want them to rise", a, b, c)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
