package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
)

func TestHear(t *testing.T) {
	t.Parallel()
	ready, gone := report{note: note{Ready: true}}, report{end: true}
	failed := report{end: true, err: errors.New("exit status 1")}
	for _, test := range []struct {
		name    string
		state   state
		reports []report
		fails   bool
	}{
		{"ends when told", ending, []report{gone}, false},
		{"ends on its own", writing, []report{gone}, true},
		{"ends before it began", starting, []report{gone}, true},
		{"fails", ending, []report{failed}, true},
		{"is killed", killed, []report{failed}, false},
		{"is told to end before it began", ending, []report{ready, gone}, false},
		{"is killed before it began", killed, []report{ready, failed}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &show{out: io.Discard}
			p := &process{state: test.state, command: &exec.Cmd{Process: &os.Process{Pid: 1}}}
			var err error
			for _, r := range test.reports {
				r.process = p
				err = errors.Join(err, s.hear(r))
			}
			if (err != nil) != test.fails {
				t.Errorf("got %v, want an error: %v", err, test.fails)
			}
		})
	}
}
