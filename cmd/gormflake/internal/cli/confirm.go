package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

var errDeclined = errors.New("not confirmed: nothing has been changed")

// A confirmFlag is the flag --yes.
type confirmFlag struct{ yes bool }

func (f *confirmFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation; needed where standard input is no terminal")
}

// ask returns nil if the answer is yes. It asks nobody but a person.
func (f *confirmFlag) ask(cmd *cobra.Command, question string) error {
	if f.yes {
		return nil
	}
	if !isTerminal(cmd.InOrStdin()) {
		return usageError{errors.New("standard input is no terminal, so nobody can confirm: give --yes; nothing has been changed")}
	}
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		say(cmd.ErrOrStderr(), "")
		return fmt.Errorf("%w (%w)", errDeclined, err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}

// readLine ends with ctx. The goroutine that still waits for a line ends with
// the process.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", errors.New("interrupted")
	}
}

// isTerminal reports whether the stream is a file that is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
