package cli

import (
	"fmt"
	"io"
)

// say writes a line. Standard output keeps the first error, and [Main] reports
// it; nobody can be told of one of standard error.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
