package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// tokenVariable, like the file, keeps the token off the command line, which
// every user of the machine can read.
const tokenVariable = "GORMFLAKE_TOKEN"

// tokenFlag is the flag --token-file.
type tokenFlag struct{ file string }

func (f *tokenFlag) register(cmd *cobra.Command) {
	textVar(cmd.Flags(), &f.file, "token-file", "", "file with the bearer token that clients must send (default $"+tokenVariable+", or none)")
}

// value is the token, or nothing where none is wanted. An empty file or
// variable is a mistake, and must not open the service to everybody.
func (f *tokenFlag) value() (string, error) {
	token, set := os.LookupEnv(tokenVariable)
	where := "$" + tokenVariable
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, set, where = strings.TrimRight(string(text), "\r\n"), true, "--token-file "+f.file
	}
	if set && token == "" {
		return "", usageError{errors.New(where + " is empty: want a token")}
	}
	return token, nil
}
