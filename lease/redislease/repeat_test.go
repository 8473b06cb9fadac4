package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// No ID is issued twice behind a proxy that repeats a write whose answer it has lost.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	storetest.Repeated(t, testserver.Redis(t, durable...), dial)
}
