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

	shortened bool // whether the page names only three of many objects
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
// by first spaces and begins with mark; the others are indented by next spaces.
func (out *page) wrapped(first, next int, mark, text string) {
	row := out.prefix + strings.Repeat(" ", first) + mark
	empty := true
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
