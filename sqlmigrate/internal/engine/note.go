package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Note is a fact to know before a plan is applied.
type Note struct {
	Text   string
	Format string // is the same in all notes of a kind
	Args   []any
	Fails  bool // whether the note is on code that works today and fails after the move
}

// Short returns the text of the note with only the first names of each [List].
func (n Note) Short() string {
	if len(n.Args) == 0 {
		return n.Text
	}
	return sentence(n.Format, Converted(n.Args, shortened)...)
}

// sentence returns the formatted text with a capital at its beginning, because a note may
// begin with the name of an object, for example "function f".
func sentence(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Name returns the arguments of the note that differ from those of another note of its
// kind, for example "key of orders". It leaves out errors.
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

// shortened returns the argument of a note as text, with only the first names of a List,
// and any other argument unchanged.
func shortened(arg any) any {
	if list, ok := arg.(List); ok {
		return list.First()
	}
	return arg
}

// A List is a list of names as the argument of a note.
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

// First returns the names as String does or, if there are more than Few, the first three
// and the number of the further names.
func (l List) First() string {
	if len(l) <= Few {
		return l.String()
	}
	return fmt.Sprintf("%s and %d more", l[:firstNames], len(l)-firstNames)
}
