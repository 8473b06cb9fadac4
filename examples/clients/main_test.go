package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// programs is the folder of the three built programs.
var programs string

// TestMain creates the folder of the programs, and removes it after the tests.
func TestMain(m *testing.M) {
	var err error
	programs, err = os.MkdirTemp("", "clients-example-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// build builds the programs once.
var build = sync.OnceValue(func() error {
	for _, folder := range []string{"../../cmd/gormflake", "../orderapi", "../clients"} {
		build := exec.Command("go", "build", "-o", program(filepath.Base(folder)), ".")
		build.Dir = folder
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", folder, err, out)
		}
	}
	return nil
})

// program returns the path of a built program.
func program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(programs, name)
}

// startService starts gormflake serve, which issues IDs under worker 1.
func startService(t *testing.T, args ...string) string {
	t.Helper()
	return start(t, "gormflake", append([]string{"serve", "--worker", "1", "--addr", "127.0.0.1:0"}, args...)...)
}

// startOrders starts examples/orderapi.
func startOrders(t *testing.T) string {
	t.Helper()
	return start(t, "orderapi", "-addr", "127.0.0.1:0")
}

// startPage starts the page for a service of IDs and an API of orders.
func startPage(t *testing.T, ids, orders string) string {
	t.Helper()
	return start(t, "clients", "-addr", "127.0.0.1:0", "-ids", ids, "-orders", orders)
}

// start runs one of the programs, which serves on a free port and prints its address.
func start(t *testing.T, name string, args ...string) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return testserver.Serve(t, program(name), args...)
}

// TestOtherSitesAreRefused sends requests of a page of another site to the page's server,
// which forwards them to the service of IDs and to the API of orders. It checks that both
// still reject these requests.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	page := startPage(t, startService(t), startOrders(t))
	for method, path := range map[string]string{http.MethodGet: "/v1/ids", http.MethodPost: "/orders"} {
		request, err := http.NewRequestWithContext(t.Context(), method, page+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: status %d, want 403", method, path, answer.StatusCode)
		}
	}
}

// TestWrongFlagsAreExplained checks that a wrong address is an error at the start, and not at
// the first request.
func TestWrongFlagsAreExplained(t *testing.T) {
	t.Parallel()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"no scheme":   {[]string{"-ids", "127.0.0.1:8080"}, `-ids "127.0.0.1:8080": want an address such as`},
		"no host":     {[]string{"-orders", "http:///orders"}, `-orders "http:///orders": want an address such as`},
		"an argument": {[]string{"8082"}, `unexpected argument "8082"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), program("clients"), c.args...).CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != 1 || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
