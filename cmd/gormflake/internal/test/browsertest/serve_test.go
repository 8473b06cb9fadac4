package browsertest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	inspector "github.com/gormflake/gormflake/cmd/gormflake/internal/page"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// testdata is the folder of the page's vectors and of the modules that check them.
const testdata = "../../page/testdata"

// serve returns the origin of a new server.
func serve(t *testing.T) string {
	t.Helper()
	return newServer(t).URL
}

// newServer serves the page without a service, together with the modules of the tests.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", inspector.Handler(inspector.Config{}, nil))
	mux.Handle("/testdata/", http.StripPrefix("/testdata", http.FileServer(http.Dir(testdata))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// compose returns an ID of the layout whose time is the duration ago.
func compose(t *testing.T, l snowflake.Layout, ago time.Duration, worker, sequence int64) types.ID {
	t.Helper()
	id, err := l.Compose(snowflake.Parts{Time: time.Now().Add(-ago), Worker: worker, Sequence: sequence})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// iso is the format of times on the page.
const iso = "2006-01-02T15:04:05.000Z"
