//go:build !replay

package torture

import (
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// An observer has no function without the build tag replay, so that programs that use this
// package do not contain the model.
type observer struct{}

// observe returns the store itself, and an observer that records nothing.
func observe(store lease.Store, _ string) (lease.Store, observer, error) {
	return store, observer{}, nil
}

func (observer) Began() {}

func (observer) Issued(snowflake.Layout, []types.ID) {}

// replay returns zero steps, because no trace was recorded.
func replay(string) (int, error) { return 0, nil }
