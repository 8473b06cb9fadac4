//go:build replay

package storetest

import "github.com/gormflake/gormflake/lease/internal/model"

// replay returns an error if the model does not allow what the process did, and how
// many of its steps it has taken.
func (r *record) replay() (steps int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := model.NewView()
	err = v.Check(r.events)
	return v.Steps, err
}
