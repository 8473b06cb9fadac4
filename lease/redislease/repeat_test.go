package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A proxy repeats writes whose answer it has lost. No ID is issued twice behind it.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	storetest.Repeated(t, testserver.Redis(t, durable...), dial)
}
