// Command manpages writes the manual pages of gormflake to a folder:
//
//	go -C cmd/gormflake run ./internal/manpages man
//
// It is a separate program, so that gormflake does not contain the generator of manual
// pages.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra/doc"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

// write writes a manual page for each command to a folder, which is the only element of args.
func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d arguments: want a folder", len(args))
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	// The command is only described and does not run, so its streams are empty.
	root := cli.Command(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.DisableAutoGenTag = true // otherwise each page would have the date on which it was made
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "gormflake", Manual: "gormflake"}, args[0])
}
