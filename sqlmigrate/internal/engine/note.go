package engine

import (
	"fmt"
	"strings"
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
	return fmt.Sprintf(n.Format, Converted(n.Args, shortened)...)
}

// Name returns the first argument of the note that differs from the same argument of
// another note of its kind. It is the name of the object that the note is about.
func (n Note) Name(other Note) string {
	for i, arg := range n.Args {
		if fmt.Sprint(arg) != fmt.Sprint(other.Args[i]) {
			return fmt.Sprint(shortened(arg))
		}
	}
	return n.Text
}

// shortened returns the argument of a note as text, with only the first names of a List.
// It returns an argument that is no List as it is.
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
// and the number of the others.
func (l List) First() string {
	if len(l) <= Few {
		return l.String()
	}
	return fmt.Sprintf("%s and %d more", l[:firstNames], len(l)-firstNames)
}
