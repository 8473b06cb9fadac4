//go:build !replay

package torture

import (
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// An observer does nothing without the build tag replay, so that programs that use this
// package do not contain the model.
type observer struct{}

func observe(store lease.Store, _ string) (lease.Store, observer, error) {
	return store, observer{}, nil
}

func (observer) Began() {}

func (observer) Issued(snowflake.Layout, []types.ID) {}

func replay(string) (int, error) { return 0, nil }
