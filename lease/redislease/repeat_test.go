package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A proxy in front of the server may send a write again whose answer it has lost. No ID may
// be issued twice behind such a proxy, and no lease may lose its worker.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	storetest.Repeated(t, testserver.Redis(t, durable...), dial)
}
