package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
)

// A strict value has errors for people, and refuses what pflag takes in silence:
// an empty text, which is what a script's unset variable leaves; and 010, the
// worker of somebody else, which pflag reads as 8.
type strict struct {
	pflag.Value
	mayBeEmpty bool
}

func (s strict) Set(text string) error {
	switch s.Type() {
	case "string", "stringArray", "stringSlice":
		if text == "" && !s.mayBeEmpty {
			return errors.New("empty")
		}
	case "int", "int64", "uint8":
		if !isWhole(text) {
			return errors.New("want a whole number in decimal, without a leading zero")
		}
	}
	err := s.Value.Set(text)
	var number *strconv.NumError
	switch {
	case err != nil && s.Type() == "bool":
		return errors.New("want true or false")
	case err != nil && s.Type() == "duration":
		return errors.New("want a duration such as 500ms, 10s or 1h30m")
	case err != nil && s.Type() == "intSlice":
		return errors.New("want whole numbers, with commas between them")
	case errors.As(err, &number):
		return number.Err
	}
	return err
}

// isWhole leaves numbers that are out of range to the flag.
func isWhole(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return text == strconv.FormatInt(n, 10) || errors.Is(err, strconv.ErrRange)
}

// makeStrict changes the flags of the command and of those below it.
func makeStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "0s" || f.DefValue == "[]" {
			f.DefValue = "" // or the help would show it: pflag no longer knows the type
		}
		_, mayBeEmpty := f.Annotations[flags.MayBeEmpty]
		f.Value = strict{f.Value, mayBeEmpty}
	})
	for _, child := range cmd.Commands() {
		makeStrict(child)
	}
}
