package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// A text is a flag that cannot be empty: where a script's variable is unset, the
// default would otherwise hold in silence, such as no token.
type text string

// textVar is StringVar for such a flag.
func textVar(flags *pflag.FlagSet, to *string, name, value, usage string) {
	*to = value
	flags.Var((*text)(to), name, usage)
}

func (t *text) Set(s string) error {
	if s == "" {
		return errors.New("empty")
	}
	*t = text(s)
	return nil
}

func (t *text) String() string { return string(*t) }
func (t *text) Type() string   { return "string" }
