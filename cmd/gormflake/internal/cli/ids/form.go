package ids

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A form is a way to write an ID.
type form struct {
	name   string
	format func(types.ID) string
	parse  func(string) (types.ID, error)
}

const (
	autoName   = "auto"
	serialName = "serial"
)

var (
	decimal     = form{"decimal", types.ID.String, types.ParseID}
	hexadecimal = form{"hex", formatHex, parseHex}

	// bigInt is what JavaScript prints of a BigInt.
	bigInt = form{decimal.name, types.ID.String, func(s string) (types.ID, error) { return types.ParseID(strings.TrimSuffix(s, "n")) }}
)

// guessed are the forms that a text which is neither digits nor hexadecimal may have.
var guessed = []form{
	{"base32", types.ID.Base32, types.ParseBase32},
	{"base58", types.ID.Base58, types.ParseBase58},
	{"base62", types.ID.Base62, types.ParseBase62},
}

// plainForms need no more than the ID.
var plainForms = slices.Concat([]form{decimal}, guessed, []form{hexadecimal})

func formatHex(id types.ID) string { return fmt.Sprintf("%#x", id.Int64()) }

// parseHex takes the digits with 0x and without.
func parseHex(s string) (types.ID, error) {
	digits := s
	if isHex(s) {
		digits = s[2:]
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	if err != nil {
		return 0, fmt.Errorf("%s is not an ID in hexadecimal: want up to 16 digits, at most 7fffffffffffffff", terminal.Quote(s))
	}
	return types.ID(n), nil
}

// formFlags are --as and --code.
type formFlags struct {
	names    []string
	as, code string
}

// register makes the first name the default: decimal, if there are no others.
func (f *formFlags) register(cmd *cobra.Command, what string, others ...string) {
	f.names = others
	for _, plain := range plainForms {
		f.names = append(f.names, plain.name)
	}
	f.names = append(f.names, serialName)
	flags.ChoiceVar(cmd, &f.as, "as", f.names[0], what+": "+strings.Join(f.names, ", "), f.names)
	cmd.Flags().StringVar(&f.code, "code", "", "code that serial numbers begin with, such as PAY")
}

// form is the one that --as names, or the zero form for auto. The form of serial
// numbers is the caller's.
func (f *formFlags) form(serials form) (form, error) {
	for _, known := range append(slices.Clip(plainForms), serials) {
		if known.name == f.as {
			return known, nil
		}
	}
	if slices.Contains(f.names, f.as) {
		return form{}, nil
	}
	return form{}, terminal.Usagef("--as %q: want one of %s", f.as, strings.Join(f.names, ", "))
}

// serial is the format of --code, or nil.
func (f *formFlags) serial(layout snowflake.Layout) (*serial.Format, error) {
	if f.code == "" {
		return nil, nil
	}
	format, err := serial.New(f.code, layout)
	if err != nil {
		return nil, terminal.Usagef("--code: %w", err)
	}
	return format, nil
}
