package service_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// If every request meets the same error, the service logs it only once in ten seconds.
func TestTroubleIsLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		store.Down()
		var log bytes.Buffer
		handler := open(t, nil, func(c *service.Config) {
			c.Store, c.Log = store, slog.New(slog.NewTextHandler(&log, nil))
		})
		for _, want := range []int{1, 2} {
			for range 5 {
				if w := get(handler, "/v1/workers"); w.Code != http.StatusServiceUnavailable {
					t.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
			if got := strings.Count(log.String(), "the workers cannot be listed"); got != want {
				t.Errorf("%d lines, want %d:\n%s", got, want, log.String())
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
	})
}
