package engine_test

import (
	"errors"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// In a list of notes of the same kind, a text prints the first note in full, and only the
// names of the others. The name of a note consists of its arguments that differ from those of
// the first note. It is empty if no argument differs, and it leaves out errors of the
// database. In the last case, the first note has fewer arguments than the second.
func TestNoteName(t *testing.T) {
	t.Parallel()
	const format = "Column %s of table %s is odd: %v."
	views := engine.List{"view a", "view b", "view c", "view d", "view e", "view f"}
	for name, test := range map[string]struct {
		first, args []any
		want        string
	}{
		"one":            {[]any{"id", "orders", 1}, []any{"id", "users", 1}, "users"},
		"two":            {[]any{"id", "orders", 1}, []any{"key", "users", 1}, "key of users"},
		"list":           {[]any{engine.List{"view x"}, "orders", 1}, []any{views, "users", 1}, "view a, view b, view c and 3 more of users"},
		"equal":          {[]any{"id", "orders", 1}, []any{"id", "orders", 1}, ""},
		"error":          {[]any{"id", "orders", errors.New("a")}, []any{"id", "users", errors.New("b")}, "users"},
		"more arguments": {[]any{"id"}, []any{"id", "users", 1}, "users of 1"},
	} {
		var f engine.Findings
		f.Note(format, test.first...)
		f.Note(format, test.args...)
		if got := f.Notes[1].Name(f.Notes[0]); got != test.want {
			t.Errorf("%s: name %q, want %q", name, got, test.want)
		}
	}
}

// A note begins with a capital, even if its first word is the name of an object. The result
// of Name does not begin with a capital, because it stands inside a sentence.
func TestNoteCapital(t *testing.T) {
	t.Parallel()
	var f engine.Findings
	for _, object := range []string{"function f", "function g"} {
		f.Warn("%s is odd.", object)
	}
	note := f.Notes[1]
	if got, want := [3]string{note.Text, note.Short(), note.Name(f.Notes[0])}, [3]string{"Function g is odd.", "Function g is odd.", "function g"}; got != want {
		t.Errorf("text, short text and name are %q, want %q", got, want)
	}
}
