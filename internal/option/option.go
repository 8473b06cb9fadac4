// Package option applies functional options, in the same way for every package that has
// options.
package option

import (
	"errors"
	"fmt"
)

// Apply calls apply for each option and joins the errors, so that the caller sees every
// mistake at once. O is the interface Option of a package. A nil option is also an error,
// which begins with prefix, the name of the package.
func Apply[O comparable](prefix string, opts []O, apply func(O) error) error {
	var none O // nil
	var errs []error
	for i, opt := range opts {
		if opt == none {
			errs = append(errs, fmt.Errorf("%s: option %d is nil", prefix, i+1))
			continue
		}
		errs = append(errs, apply(opt))
	}
	return errors.Join(errs...)
}

// Check returns nil if good is true, and otherwise the error of fmt.Errorf with the other
// arguments. An option calls it to check its argument. The option may store the argument
// before the check, because callers do not use a configuration that comes with an error.
func Check(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return fmt.Errorf(format, args...)
}
