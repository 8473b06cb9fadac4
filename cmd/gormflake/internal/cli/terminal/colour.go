package terminal

import (
	"io"
	"os"
)

// A Colour is how a terminal is told of one (ECMA-48, SGR).
type Colour string

// The colours.
const (
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Cyan   Colour = "\x1b[36m"
)

const plain = "\x1b[0m"

// A Painter colours text, or leaves it as it is.
type Painter bool

// PainterOf colours what is written to a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal says that it is dumb.
func PainterOf(out io.Writer) Painter {
	return Painter(IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Paint returns the text in the colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p {
		return text
	}
	return string(c) + text + plain
}
