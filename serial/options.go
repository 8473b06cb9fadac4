package serial

import (
	"fmt"
	"strings"
)

// Option changes what [New] makes. An option with a bad argument makes New fail.
type Option interface{ apply(*Format) error }

type optionFunc func(*Format) error

func (o optionFunc) apply(f *Format) error { return o(f) }

const separators = "-_."

// WithSeparator puts a hyphen, an underscore or a full stop between the code,
// the time and each of the fields, as in PAY-20220628160740105-11-26-0000. The
// default is nothing. Formats with and without it do not read each other's
// serial numbers.
func WithSeparator(separator string) Option {
	return optionFunc(func(f *Format) error {
		if len(separator) != 1 || !strings.Contains(separators, separator) {
			return fmt.Errorf("serial: separator %q: want one of %q", separator, separators)
		}
		f.separator = separator
		return nil
	})
}
