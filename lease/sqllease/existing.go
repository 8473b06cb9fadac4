package sqllease

import "errors"

// ErrNoTable is wrapped by the errors of a store that finds no table of workers
// and that [ExistingTable] keeps from creating one.
var ErrNoTable = errors.New("no table of workers")

// ExistingTable never creates the table, for tools that only read and for
// applications that may not: where there is none, every call fails with
// [ErrNoTable].
func ExistingTable() Option {
	return optionFunc(func(cfg *config) error {
		cfg.existing = true
		return nil
	})
}
