package main

import (
	"bytes"
	"regexp"
	"testing"
)

// keyLine matches a line of the output, with the kind of a row, its key, and what a
// spreadsheet shows of the key.
var keyLine = regexp.MustCompile(`(?m)^(customer|invoice ) {2}(\d+) +(\d+)$`)

// TestRun checks the keys in the output. Customers have keys of 19 digits, which a
// spreadsheet changes. Invoices have keys of 15 digits, which it keeps.
func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := keyLine.FindAllStringSubmatch(out.String(), -1)
	if len(lines) != 5 {
		t.Fatalf("%d keys in the output, want the keys of 2 customers and 3 invoices:\n%s", len(lines), &out)
	}
	for _, line := range lines {
		digits := 19
		if line[1] == "invoice " {
			digits = 15
		}
		if len(line[2]) != digits {
			t.Errorf("%s has key %s with %d digits, want %d", line[1], line[2], len(line[2]), digits)
		}
		if kept := line[2] == line[3]; kept != (digits == 15) {
			t.Errorf("%s key %s is %s in a spreadsheet", line[1], line[2], line[3])
		}
	}
	if want := "15 digits until 2039, and JavaScript reads all of them, until 2194"; !bytes.Contains(out.Bytes(), []byte(want)) {
		t.Errorf("output lacks %q:\n%s", want, &out)
	}
}
