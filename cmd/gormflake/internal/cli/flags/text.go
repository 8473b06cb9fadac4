package flags

import (
	"errors"

	"github.com/spf13/pflag"
)

// A text is a flag that cannot be empty: where a script's variable is unset, the
// default would otherwise hold in silence, such as no token.
type text string

// TextVar is StringVar for such a flag.
func TextVar(set *pflag.FlagSet, to *string, name, value, usage string) {
	*to = value
	set.Var((*text)(to), name, usage)
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
