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
	autoName   = "auto" // stands for no form, so that parse determines it
	serialName = "serial"
)

var (
	decimal     = form{"decimal", types.ID.String, types.ParseID}
	hexadecimal = form{"hex", formatHex, parseHex}

	// bigInt is the form in which JavaScript prints a BigInt, with an n at the end. It has
	// the name of decimal, and is shown as such.
	bigInt = form{decimal.name, types.ID.String, func(s string) (types.ID, error) { return types.ParseID(strings.TrimSuffix(s, "n")) }}
)

// guessedForms are the possible forms of a text that does not show its form. Several of
// them can read the same text, for example base58 and base62.
var guessedForms = []form{
	{"base32", types.ID.Base32, types.ParseBase32},
	{"base58", types.ID.Base58, types.ParseBase58},
	{"base62", types.ID.Base62, types.ParseBase62},
}

// plainForms are the forms that need only the ID.
var plainForms = slices.Concat([]form{decimal}, guessedForms, []form{hexadecimal})

// formatHex returns hexadecimal digits with 0x.
func formatHex(id types.ID) string { return fmt.Sprintf("%#x", id.Int64()) }

// parseHex parses hexadecimal digits with or without 0x.
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

// isHex reports whether s is hexadecimal with the prefix 0x. The prefix is required,
// because a text without it could have any other form. A text with more digits than an ID
// is not hexadecimal, but a serial number with the code 0X.
func isHex[T string | []byte](s T) bool {
	if len(s) < 3 || len(s) > len("0x7fffffffffffffff") || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
		return false
	}
	_, err := strconv.ParseUint(string(s[2:]), 16, 64)
	return err == nil
}

// isBigInt reports whether s is a number with an n at the end. It requires more digits
// than a text in base 32 has characters, because such a text may end with n too.
func isBigInt(s []byte) bool {
	last := len(s) - 1
	return last > 14 && last <= maxDigits && s[last] == 'n' && isDigits(s[:last])
}

// isDigits reports whether s consists of ASCII digits and is not empty.
func isDigits[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}

// maxDigits is the number of digits of the largest ID.
const maxDigits = 19

// formFlags holds --as and --code.
type formFlags struct {
	names    []string
	as, code string
}

// register adds the flags to a command. The help of --as begins with the text what. The
// values of --as are others, followed by the names of the forms. The first value is the
// default, which is decimal if others is empty.
func (f *formFlags) register(cmd *cobra.Command, what string, others ...string) {
	f.names = others
	for _, plain := range plainForms {
		f.names = append(f.names, plain.name)
	}
	f.names = append(f.names, serialName)
	flags.ChoiceVar(cmd, &f.as, "as", f.names[0], what+": "+strings.Join(f.names, ", "), f.names)
	cmd.Flags().StringVar(&f.code, "code", "", "code that serial numbers begin with, such as PAY")
}

// selected returns the form that --as names, or the zero form for auto. serials is the form
// of serial numbers.
func (f *formFlags) selected(serials form) (form, error) {
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

// serialFormat returns the format of --code, or nil if there is no code.
func (f *formFlags) serialFormat(layout snowflake.Layout) (*serial.Format, error) {
	if f.code == "" {
		return nil, nil
	}
	format, err := serial.New(f.code, layout)
	if err != nil {
		return nil, terminal.Usagef("--code: %w", err)
	}
	return format, nil
}
