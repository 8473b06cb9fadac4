package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Note is a fact that users should know before they apply a plan. Text is the result of
// Format and Args.
type Note struct {
	Text   string
	Format string // the same in all notes of a kind, for example "Column %s of table %s …"
	Args   []any
	Fails  bool // whether the note is on code that works today and fails after the move
}

// Short returns the text of the note with only the first names of each [List], for example
// "view a, view b, view c and 3 more".
func (n Note) Short() string {
	if len(n.Args) == 0 {
		return n.Text
	}
	return sentence(n.Format, Converted(n.Args, shortened)...)
}

// sentence returns the formatted text with a capital at its beginning. A note may begin
// with the name of an object, so that "function f" becomes "Function f".
func sentence(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Name returns a short name of the note for a list of notes of the same kind, of which only
// the note other is printed in full. The name has the arguments of n that differ from the
// arguments of other. For example, if other is about column id of table users, a note on
// column key of table orders has the name "key of orders", and a note on column id of table
// orders has the name "orders". Errors among the arguments are left out, because they are
// too long.
func (n Note) Name(other Note) string {
	var names []string
	for i, arg := range n.Args {
		_, isError := arg.(error)
		if !isError && (i >= len(other.Args) || fmt.Sprint(arg) != fmt.Sprint(other.Args[i])) {
			names = append(names, fmt.Sprint(shortened(arg)))
		}
	}
	return strings.Join(names, " of ")
}

// shortened returns the text of a [List] with only its first names, and any other argument
// of a note unchanged.
func shortened(arg any) any {
	if list, ok := arg.(List); ok {
		return list.First()
	}
	return arg
}

// A List is a list of names as an argument of a note, which [Note.Short] can shorten.
type List []string

// String returns all names, separated by commas.
func (l List) String() string { return strings.Join(l, ", ") }

const (
	// Few is the largest number of objects of a kind that a short text describes one by
	// one.
	Few = 5

	// firstNames is the number of names in a short text if there are more than Few.
	firstNames = 3
)

// First returns all names as String does or, if there are more than Few, only the first
// three, as in "a, b, c and 3 more".
func (l List) First() string {
	if len(l) <= Few {
		return l.String()
	}
	return fmt.Sprintf("%s and %d more", l[:firstNames], len(l)-firstNames)
}
