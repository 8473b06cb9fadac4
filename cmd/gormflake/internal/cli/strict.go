package cli

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A strict value has errors for people, and refuses what pflag takes in silence:
// 010, which it reads as 8, the worker of somebody else; and in a list an empty
// text, which is what a script's unset variable leaves.
type strict struct {
	pflag.Value
	check func(string) error
}

func (s strict) Set(text string) error {
	if err := s.check(text); err != nil {
		return err
	}
	err := s.Value.Set(text)
	var number *strconv.NumError
	if errors.As(err, &number) {
		return number.Err
	}
	return err
}

var checks = map[string]func(string) error{
	"bool":     parsed(strconv.ParseBool, "true or false"),
	"duration": parsed(time.ParseDuration, "a duration such as 500ms, 10s or 1h30m"),
	"int":      checkWhole, "int64": checkWhole, "uint8": checkWhole,
	"stringArray": checkFilled, "stringSlice": checkFilled,
}

// makeStrict changes the flags of the command and of those below it.
func makeStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		check := checks[f.Value.Type()]
		if check == nil {
			return
		}
		if f.DefValue == "0s" || f.DefValue == "[]" {
			f.DefValue = "" // or the help would show it: pflag no longer knows the type
		}
		f.Value = strict{f.Value, check}
	})
	for _, child := range cmd.Commands() {
		makeStrict(child)
	}
}

func checkWhole(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); text != strconv.FormatInt(n, 10) && !errors.Is(err, strconv.ErrRange) {
		return errors.New("want a whole number in decimal, without a leading zero")
	}
	return nil
}

// parsed is a check by a parser whose errors are not for people.
func parsed[T any](parse func(string) (T, error), want string) func(string) error {
	return func(text string) error {
		if _, err := parse(text); err != nil {
			return errors.New("want " + want)
		}
		return nil
	}
}

func checkFilled(text string) error {
	if text == "" {
		return errors.New("empty")
	}
	return nil
}
