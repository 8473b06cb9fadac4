// Package option applies options in the same way in every package that has
// them.
package option

import (
	"errors"
	"fmt"
)

// Apply calls apply for each of the options, so that one run shows every
// mistake. A nil option is one; its error has prefix, the name of the package.
func Apply[O comparable](prefix string, opts []O, apply func(O) error) error {
	var none O
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

// Check returns the error of an argument that is not good, in the words of the format,
// or nil. An option may set the argument all the same: nothing uses what an error
// comes with.
func Check(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return fmt.Errorf(format, args...)
}
