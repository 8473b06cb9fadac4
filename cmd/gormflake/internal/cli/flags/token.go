package flags

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// TokenVariable keeps, as the file does, the token off the command line, which
// every user of the machine can read.
const TokenVariable = "GORMFLAKE_TOKEN"

// Token is the flag --token-file.
type Token struct{ file string }

// Register adds the flags to a command.
func (f *Token) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "token-file", "", "file with the bearer token that clients must send (default $"+TokenVariable+", or none)")
}

// Value is the token, or nothing where none is wanted. An empty file or
// variable is a mistake, and must not open the service to everybody.
func (f *Token) Value() (string, error) {
	token, set := os.LookupEnv(TokenVariable)
	where := "$" + TokenVariable
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, set, where = strings.TrimRight(string(text), "\r\n"), true, "--token-file "+f.file
	}
	if set && token == "" {
		return "", terminal.Usagef("%s is empty: want a token", where)
	}
	return token, nil
}
