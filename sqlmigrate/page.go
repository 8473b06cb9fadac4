package sqlmigrate

import (
	"strings"
	"unicode/utf8"
)

// pageWidth is the default width of a printed plan, in characters.
const pageWidth = 100

// A page collects the lines of a printed plan.
type page struct {
	strings.Builder

	width  int    // the longest row, in characters
	prefix string // the beginning of each row, for example "-- " in SQL

	shortened bool // whether a list on the page names only some of its objects
}

// line writes text, which may have several lines. It indents each line by indent spaces
// and wraps it between words. The continuation of a wrapped line is indented by two more
// spaces than its beginning.
func (out *page) line(indent int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		// Indented SQL keeps its indentation.
		lead := len(line) - len(strings.TrimLeft(line, " "))
		out.wrapped(indent+lead, indent+lead+2, "", line)
	}
}

// wrapped writes text on rows of at most out.width characters. The first row is indented
// by first spaces and then has mark, for example "- " in a list. The others are indented by
// next spaces. A word that is longer than a row has a row of its own.
func (out *page) wrapped(first, next int, mark, text string) {
	row := out.prefix + strings.Repeat(" ", first) + mark
	empty := true // whether the row has no word yet
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(row)+1+utf8.RuneCountInString(word) > out.width {
			out.row(row)
			row, empty = out.prefix+strings.Repeat(" ", next), true
		}
		if !empty {
			row += " "
		}
		row, empty = row+word, false
	}
	out.row(row)
}

// row writes text without the spaces at its end, and without wrapping it.
func (out *page) row(text string) {
	out.WriteString(strings.TrimRight(text, " ") + "\n")
}
