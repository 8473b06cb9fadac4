package flags

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

var errDeclined = errors.New("not confirmed: nothing has been changed")

// A Confirm is the flag --yes.
type Confirm struct{ yes bool }

// Register adds the flags to a command.
func (f *Confirm) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation; needed where standard input is not a terminal")
}

// Ask returns nil if the answer is yes. It asks nobody but a person.
func (f *Confirm) Ask(cmd *cobra.Command, question string) error {
	if f.yes {
		return nil
	}
	if !terminal.IsTerminal(cmd.InOrStdin()) {
		return terminal.Usagef("standard input is not a terminal, so nobody can confirm: give --yes; nothing has been changed")
	}
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	answer, err := bufio.NewReader(terminal.Reader{Ctx: cmd.Context(), In: cmd.InOrStdin()}).ReadString('\n')
	if err != nil {
		terminal.Say(cmd.ErrOrStderr(), "")
		return fmt.Errorf("%w (%w)", errDeclined, err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}
