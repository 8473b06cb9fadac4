package sqlmigrate

import (
	"errors"
	"fmt"
)

// Err returns nil, or one error that names every blocker, each on a line of its
// own.
func (p *Plan) Err() error {
	errs := make([]error, len(p.Blockers))
	for i, b := range p.Blockers {
		errs[i] = fmt.Errorf("sqlmigrate: table %s: blocked by %s: %s: %s", b.Table, b.Object, b.Reason, b.Fix)
	}
	return errors.Join(errs...)
}
