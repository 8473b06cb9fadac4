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

// A form is a way to write an ID as text, such as base58. format is nil in a form that is only
// read, and parse is nil in a form that is only written.
type form struct {
	name   string // the value of --as
	format func(types.ID) string
	parse  func(string) (types.ID, error)
}

const (
	autoName   = "auto" // the command parse finds out the form of each text
	serialName = "serial"
)

var (
	decimal     = form{"decimal", types.ID.String, types.ParseID}
	hexadecimal = form{"hex", formatHex, parseHex}

	// bigInt is the form in which JavaScript prints a BigInt, with an n at the end, as in
	// 2124189853926044565n. The output shows it as decimal.
	bigInt = form{decimal.name, types.ID.String, func(s string) (types.ID, error) { return types.ParseID(strings.TrimSuffix(s, "n")) }}
)

// guessedForms are the forms that parse tries for a text that could have several forms.
// Several of them can read the same text, for example base58 and base62.
var guessedForms = []form{
	{"base32", types.ID.Base32, types.ParseBase32},
	{"base58", types.ID.Base58, types.ParseBase58},
	{"base62", types.ID.Base62, types.ParseBase62},
}

// plainForms are the forms that need no code, in contrast to serial numbers.
var plainForms = slices.Concat([]form{decimal}, guessedForms, []form{hexadecimal})

// formatHex returns hexadecimal digits with 0x, for example 0x1d7a.
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

// isHex reports whether s is hexadecimal with the prefix 0x. It requires the prefix, because
// a text without it could have any other form. It rejects a text with more digits than an
// ID, which may be a serial number with the code 0X.
func isHex[T string | []byte](s T) bool {
	if len(s) < 3 || len(s) > len("0x7fffffffffffffff") || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
		return false
	}
	_, err := strconv.ParseUint(string(s[2:]), 16, 64)
	return err == nil
}

// isBigInt reports whether s is a number with an n at the end, as JavaScript prints a BigInt.
// It requires at least 15 digits, because a shorter text may be an ID in base 32, 58 or 62
// that ends with n.
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

// formFlags holds --as, the form of IDs, and --code, the code of serial numbers.
type formFlags struct {
	names    []string // the valid values of --as
	as, code string
}

// register adds the flags to a command. The help of --as begins with usage. The values of
// --as are extraNames, followed by the names of the forms. The first value is the default,
// which is decimal without extraNames.
func (f *formFlags) register(cmd *cobra.Command, usage string, extraNames ...string) {
	f.names = extraNames
	for _, plain := range plainForms {
		f.names = append(f.names, plain.name)
	}
	f.names = append(f.names, serialName)
	flags.ChoiceVar(cmd, &f.as, "as", f.names[0], usage+": "+strings.Join(f.names, ", "), f.names)
	cmd.Flags().StringVar(&f.code, "code", "", "code that serial numbers begin with, such as PAY")
}

// selected returns the form that --as names, or the zero form if --as is auto. For --as serial
// it returns serialForm, which the caller makes because it depends on the layout.
func (f *formFlags) selected(serialForm form) (form, error) {
	for _, known := range append(slices.Clip(plainForms), serialForm) {
		if known.name == f.as {
			return known, nil
		}
	}
	if slices.Contains(f.names, f.as) { // auto
		return form{}, nil
	}
	return form{}, terminal.Usagef("--as %q: want one of %s", f.as, strings.Join(f.names, ", "))
}

// serialFormat returns the format of serial numbers with the code of --code, or nil if --code
// is not given.
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
