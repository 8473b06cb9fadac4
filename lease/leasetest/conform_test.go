package leasetest_test

import (
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conform(t, opener(func() lease.Store { return leasetest.NewMemory() }))
}

func TestMemoryWithGetConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conform(t, opener(func() lease.Store { return leasetest.WithGet(leasetest.NewMemory()) }))
}
