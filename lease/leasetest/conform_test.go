package leasetest_test

import (
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMain(m *testing.M) {
	storetest.RaiseParallel()
	m.Run()
}

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conform(t, opener(func() lease.Store { return leasetest.NewMemory() }))
}

func TestMemoryWithGetConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conform(t, opener(func() lease.Store { return leasetest.WithGet(leasetest.NewMemory()) }))
}
