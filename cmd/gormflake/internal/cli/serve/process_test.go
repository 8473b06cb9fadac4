//go:build unix

package serve_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// An instance is a running process of gormflake serve.
type instance struct {
	command *exec.Cmd
	out     *bufio.Reader
	url     string
	log     syncBuffer // standard error
}

// errNotListening is the error of launch if the service ends before it listens.
var errNotListening = errors.New("it does not listen")

// launch starts the service, and returns an error if it ends before it listens.
func launch(t *testing.T, program string, args ...string) (*instance, error) {
	t.Helper()
	i := &instance{command: exec.CommandContext(t.Context(), program, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)}
	i.command.Stderr = &i.log
	out, err := i.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.command.Start(); err != nil {
		t.Fatal(err)
	}
	i.out = bufio.NewReader(out)
	line, err := i.out.ReadString('\n')
	if err != nil {
		_ = i.command.Wait()
		return nil, fmt.Errorf("%w: %s", errNotListening, &i.log)
	}
	i.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return i, nil
}

// line returns the address in the next line of standard output.
func (i *instance) line(t *testing.T) string {
	t.Helper()
	line, err := i.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[strings.Index(line, "http") : len(line)-1]
}

// startService launches a service, and waits until it has a worker.
func startService(t *testing.T, program string, args ...string) *instance {
	t.Helper()
	i, err := launch(t, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	fetchUntil(t, i.url, "/healthz", func(a answer) bool { return !strings.Contains(a.text, `"status":"starting"`) })
	return i
}

// stop sends SIGTERM and returns the exit code.
func (i *instance) stop(t *testing.T) int {
	t.Helper()
	if err := i.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = i.command.Wait() // ProcessState has the exit code
	return i.command.ProcessState.ExitCode()
}

// kill ends the process as a crash does, so that it does not release its worker.
func (i *instance) kill() {
	_ = i.command.Process.Kill()
	_ = i.command.Wait() // the process was killed, so an error is expected
}

// An answer is the response to a request.
type answer struct {
	status int
	header http.Header
	text   string
}

// fetch sends a GET request.
func fetch(base, path string) (answer, error) {
	return request(http.MethodGet, base, path)
}

// request sends a request without a body.
func request(method, base, path string) (answer, error) {
	r, err := http.NewRequest(method, base+path, nil)
	if err != nil {
		return answer{}, err
	}
	client := &http.Client{Timeout: clitest.Patience}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// ids returns the IDs in the answer to /v1/ids.
func (a answer) ids(t *testing.T) []types.ID {
	t.Helper()
	var got struct{ IDs []types.ID }
	if err := json.Unmarshal([]byte(a.text), &got); err != nil {
		t.Errorf("%d %.100s: %v", a.status, a.text, err)
	}
	return got.IDs
}

// fetchUntil repeats the request until wanted accepts the answer.
func fetchUntil(t *testing.T, base, path string, wanted func(answer) bool) answer {
	t.Helper()
	for deadline := time.Now().Add(clitest.Patience); ; time.Sleep(5 * time.Millisecond) {
		a, err := fetch(base, path)
		if err == nil && wanted(a) {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v, %d %.300s", path, err, a.status, a.text)
		}
	}
}

// readHolders returns the records of the workers in a database.
func readHolders(t *testing.T, url string) []lease.Holder {
	t.Helper()
	in, err := lease.Inspect(t.Context(), sqllease.New(clitest.Open(t, url)))
	if err != nil {
		t.Fatal(err)
	}
	return in.Holders
}

// A crowd is a group of clients that request IDs from two services and collect them.
type crowd struct {
	t     *testing.T
	urls  [2]atomic.Pointer[string] // of the services; a test that restarts one replaces its URL
	stop  atomic.Bool
	group sync.WaitGroup

	mu  sync.Mutex
	all []types.ID
}

// startCrowd starts four clients, two for each service.
func startCrowd(t *testing.T, first, second *instance) *crowd {
	c := &crowd{t: t}
	c.urls[0].Store(&first.url)
	c.urls[1].Store(&second.url)
	for client := range 4 {
		c.group.Go(func() { c.requestIDs(client) })
	}
	return c
}

// requestIDs requests blocks of 1 to 200 IDs until the crowd stops. It ignores a failed
// request and status 503, because the test kills services, and a service may have no worker
// yet.
func (c *crowd) requestIDs(client int) {
	var received []types.ID
	connection := &http.Client{Timeout: clitest.Patience, Transport: &http.Transport{}}
	defer connection.CloseIdleConnections()
	for n := 0; !c.stop.Load(); n++ {
		response, err := connection.Get(fmt.Sprintf("%s/v1/ids?count=%d", *c.urls[client%2].Load(), 1+n*n%200))
		if err != nil {
			time.Sleep(time.Millisecond) // the service has been killed
			continue
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			continue
		}
		if a := (answer{response.StatusCode, nil, string(text)}); a.status == http.StatusOK {
			received = append(received, a.ids(c.t)...)
		} else if a.status != http.StatusServiceUnavailable {
			c.t.Errorf("status %d: %s", a.status, a.text)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, received...)
}

// end stops the clients, and returns the number of IDs and the number of duplicates.
func (c *crowd) end() (total, duplicates int) {
	c.stop.Store(true)
	c.group.Wait()
	slices.Sort(c.all)
	return len(c.all), len(c.all) - len(slices.Compact(slices.Clone(c.all)))
}

// TestServe runs the built program, because the claims of its functions concern whole
// processes, for example that no ID is issued twice.
func TestServe(t *testing.T) {
	t.Parallel()
	program := clitest.Build(t)
	for name, test := range map[string]func(t *testing.T, program string){
		"issues nothing twice":       serveIssuesNothingTwice,
		"a fixed number twice":       serveFixedTwice,
		"without its database":       serveWithoutItsDatabase,
		"changes nothing":            serveChangesNothing,
		"finishes what is under way": serveFinishesWhatIsUnderWay,
		"cuts off at last":           serveCutsOffAtLast,
		"drains":                     serveDrains,
		"drains after a late start":  serveDrainsAfterALateStart,
		"idle connections yield":     serveBesideIdleConnections,
		"ends while full":            serveEndsWhileFull,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// disturbedFor returns how long serveIssuesNothingTwice kills and restarts a service.
func disturbedFor() time.Duration {
	if os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" {
		return 30 * time.Second
	}
	return 3 * time.Second
}

// Two services share the two workers of a database and never issue the same ID, although one
// of them is killed and restarted many times. The restarted service leases the same worker
// each time.
func serveIssuesNothingTwice(t *testing.T, program string) {
	t.Helper()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Open(t, url) // creates the file of SQLite
		args := []string{"--dsn", url, "--window", "300ms", "--datacenter-bits", "0", "--worker-bits", "1"}
		steady, killed := startService(t, program, args...), startService(t, program, args...)
		clients := startCrowd(t, steady, killed)
		kills := 0
		for begun := time.Now(); time.Since(begun) < disturbedFor() || kills < 3; kills++ {
			time.Sleep(200 * time.Millisecond) // under load
			killed.kill()
			killed = startService(t, program, args...) // waits until the lease of the killed process expires
			clients.urls[1].Store(&killed.url)
		}
		total, duplicates := clients.end()
		if duplicates > 0 || total < 1000 {
			t.Errorf("%d of %d IDs are duplicates", duplicates, total)
		}
		t.Logf("%d IDs, %d duplicates, %d kills", total, duplicates, kills)
		if a, b := steady.stop(t), killed.stop(t); a != clitest.OK || b != clitest.OK {
			t.Errorf("SIGTERM ends them with %d and %d, want 0:\n%s\n%s", a, b, &steady.log, &killed.log)
		}
		for _, h := range readHolders(t, url) {
			if h.Owner != "" {
				t.Errorf("%v has not been released", h)
			}
		}
	})
}

// Two services with the same fixed worker issue the same ID, and the crowd finds this
// duplicate. If a crowd could not find duplicates, serveIssuesNothingTwice would never fail.
func serveFixedTwice(t *testing.T, program string) {
	t.Helper()
	one, other := startService(t, program, "--worker", "5"), startService(t, program, "--worker", "5")
	all := 0
	for begun := time.Now(); time.Since(begun) < clitest.Patience; {
		clients := startCrowd(t, one, other)
		time.Sleep(time.Second)
		total, duplicates := clients.end()
		if duplicates > 0 {
			return
		}
		all += total
	}
	t.Errorf("no duplicate among %d IDs", all)
}

// Without its database, the service issues IDs until the window of its lease ends, then
// refuses them and says why, and issues again once the database is back.
func serveWithoutItsDatabase(t *testing.T, program string) {
	t.Helper()
	direct := testdb.URL(t, testdb.Postgres)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.NewProxy(t, u.Host)
	u.Host = proxy.Address()
	i := startService(t, program, "--dsn", u.String(), "--window", "1s")
	if a, err := fetch(i.url, "/healthz"); err != nil || a.status != http.StatusOK || !strings.HasPrefix(a.text, `{"status":"ok","until":"`) {
		t.Errorf("healthz: %v, %d %s", err, a.status, a.text)
	}
	proxy.Lose()
	a := fetchUntil(t, i.url, "/v1/ids", func(a answer) bool { return a.status == http.StatusServiceUnavailable })
	if a.header.Get("Retry-After") != "1" || !strings.HasPrefix(a.text, `{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the window of the worker ended at `) {
		t.Errorf("%v %s", a.header, a.text)
	}
	a = fetchUntil(t, i.url, "/healthz", func(a answer) bool { return strings.Contains(a.text, "could not be extended since") })
	var health struct {
		Status string
		Since  time.Time
	}
	if err := json.Unmarshal([]byte(a.text), &health); err != nil || a.status != http.StatusServiceUnavailable ||
		health.Status != "fenced" || health.Since.After(time.Now()) || time.Since(health.Since) > clitest.Patience {
		t.Errorf("%v: %d %s", err, a.status, a.text)
	}
	proxy.Pass()
	fetchUntil(t, i.url, "/v1/ids", func(a answer) bool { return a.status == http.StatusOK })
	fetchUntil(t, i.url, "/healthz", func(a answer) bool { return a.status == http.StatusOK })
	if code := i.stop(t); code != clitest.OK {
		t.Errorf("SIGTERM ends it with %d:\n%s", code, &i.log)
	}
	for _, want := range []string{"lease: fenced", "lease: the window is extended again"} {
		if !strings.Contains(i.log.String(), want) {
			t.Errorf("want %q in the log:\n%s", want, &i.log)
		}
	}
}

// contents returns the names of the tables and every row of the table of workers.
func contents(t *testing.T, url string) string {
	t.Helper()
	db := clitest.Open(t, url)
	tables, err := db.Migrator().GetTables()
	if err != nil || !slices.Contains(tables, "snowflake_workers") {
		t.Fatalf("tables %q, %v", tables, err)
	}
	var rows []map[string]any
	if err := db.Raw("SELECT * FROM snowflake_workers ORDER BY 1, 2").Scan(&rows).Error; err != nil || len(rows) < 2 {
		t.Fatalf("rows %v, %v", rows, err)
	}
	return fmt.Sprint(tables, rows)
}

// No request changes the database, whatever its method and path.
func serveChangesNothing(t *testing.T, program string) {
	t.Helper()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Open(t, url)
		i := startService(t, program, "--dsn", url, "--window", "1h") // the lease is not renewed during the test
		before := contents(t, url)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, path := range []string{
				"/v1/ids", "/v1/ids/1", "/v1/ids/1?as=base58", "/v1/layout", "/v1/workers", "/v1/workers/1", "/healthz", "/metrics", "/", "/style.css",
				"/v1/workers?evict=0", "/v1/ids?count=10000", "/v1/layout?workerBits=1",
			} {
				if a, err := request(method, i.url, path); err != nil || a.status >= 500 {
					t.Errorf("%s %s: %v, %d", method, path, err, a.status)
				}
			}
		}
		if after := contents(t, url); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
		if code := i.stop(t); code != clitest.OK || contents(t, url) == before {
			t.Errorf("SIGTERM ends it with %d, want 0 and the worker released:\n%s", code, &i.log)
		}
	})
}

// slowFlags select a layout of ten IDs a second, so that a request takes seconds.
var slowFlags = []string{"--datacenter-bits", "0", "--worker-bits", "8", "--sequence-bits", "0", "--tick", "100ms", "--epoch", "2020-01-01T00:00:00Z"}

// SIGTERM lets the service answer the request that is running, and then release its worker,
// whose bound is after the last ID.
func serveFinishesWhatIsUnderWay(t *testing.T, program string) {
	t.Helper()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Open(t, url)
	i := startService(t, program, append([]string{"--dsn", url}, slowFlags...)...)
	done := underWay(t, i, 20)
	code := i.stop(t)
	a := <-done
	if a.status != http.StatusOK || len(a.ids(t)) != 20 || code != clitest.OK {
		t.Fatalf("%d %s, exit code %d, want 20 IDs and 0", a.status, a.text, code)
	}
	if _, err := fetch(i.url, "/healthz"); err == nil {
		t.Error("it still answers")
	}
	last := slowLayout().Time(slices.Max(a.ids(t)))
	for _, h := range readHolders(t, url) {
		if h.Owner != "" || !h.Until.After(last) {
			t.Errorf("%v, want nobody, until after %v", h, last)
		}
	}
}

// slowLayout is the layout that slowFlags describe.
func slowLayout() snowflake.Layout {
	return snowflake.Layout{Epoch: time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), Tick: 100 * time.Millisecond, WorkerBits: 8}
}

// underWay sends a request for more IDs than the service can issue at once, and returns
// once the generator is ahead of its clock, which means that the request waits.
func underWay(t *testing.T, i *instance, count int) <-chan answer {
	t.Helper()
	done := make(chan answer, 1)
	go func() {
		a, _ := fetch(i.url, fmt.Sprint("/v1/ids?count=", count))
		done <- a
	}()
	fetchUntil(t, i.url, "/metrics", func(a answer) bool { return !strings.Contains(a.text, "\ngormflake_lead_seconds 0\n") })
	return done
}

// A request that takes longer than --shutdown-timeout is cut off. The service reports it,
// and still releases its worker.
func serveCutsOffAtLast(t *testing.T, program string) {
	t.Helper()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Open(t, url)
	i := startService(t, program, append([]string{"--dsn", url, "--timeout", "1h", "--shutdown-timeout", "200ms"}, slowFlags...)...)
	done := underWay(t, i, 3000)
	if code := i.stop(t); code != clitest.Failed || !strings.Contains(i.log.String(), "gormflake: requests under way were cut off after 200ms: see --shutdown-timeout\n") {
		t.Errorf("exit code %d:\n%s", code, &i.log)
	}
	if a := <-done; a.status != 0 {
		t.Errorf("answered %d", a.status)
	}
	for _, h := range readHolders(t, url) {
		if h.Owner != "" {
			t.Errorf("%v has not been released", h)
		}
	}
}

// Clients that stop sending requests when /readyz fails, as a load balancer does, lose no
// request.
func serveDrains(t *testing.T, program string) {
	t.Helper()
	drain(t, startService(t, program, "--worker", "6", "--shutdown-delay", "6s", "--health-addr", "127.0.0.1:0"))
}

// Clients of a service that was listening before it had a worker lose no request when it ends.
// Such a service must keep the worker, which it has leased later, until it has answered the
// last request.
func serveDrainsAfterALateStart(t *testing.T, program string) {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "app.db")
	clitest.Open(t, url) // creates the file
	flags := []string{"--dsn", url, "--worker", "6"}
	holder := startService(t, program, flags...)
	late, err := launch(t, program, append(flags, "--shutdown-delay", "6s")...)
	if err != nil {
		t.Fatal(err)
	}
	fetchUntil(t, late.url, "/readyz", func(a answer) bool { return strings.Contains(a.text, "no worker is leased yet") })
	if code := holder.stop(t); code != clitest.OK {
		t.Fatalf("exit code %d:\n%s", code, &holder.log)
	}
	drain(t, late)
}

// drain stops the service while eight clients send requests. The clients stop some time after
// /readyz fails, as a load balancer does. drain reports an error if a request gets no ID.
func drain(t *testing.T, i *instance) {
	t.Helper()
	var failed, answered atomic.Int64
	var clients sync.WaitGroup
	drained := make(chan struct{})
	fetchUntil(t, i.url, "/readyz", func(a answer) bool { return a.status == http.StatusOK })
	for range 8 {
		clients.Go(func() {
			connection := &http.Client{Timeout: clitest.Patience, Transport: &http.Transport{}}
			for {
				select {
				case <-drained:
					return
				default:
				}
				response, err := connection.Get(i.url + "/v1/ids")
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					failed.Add(1)
					continue
				}
				answered.Add(1)
			}
		})
	}
	if err := i.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	a := fetchUntil(t, i.url, "/readyz", func(a answer) bool { return a.status == http.StatusServiceUnavailable })
	if !strings.Contains(a.text, `"status":"draining"`) {
		t.Errorf("/readyz: %s", a.text)
	}
	if a, err := fetch(i.url, "/livez"); err != nil || a.status != http.StatusOK {
		t.Errorf("/livez: %v, %d, want 200: a restart would not help", err, a.status)
	}
	time.Sleep(300 * time.Millisecond) // a load balancer needs time to notice
	close(drained)
	clients.Wait()
	_ = i.command.Wait() // ProcessState has the exit code
	if code := i.command.ProcessState.ExitCode(); code != clitest.OK || failed.Load() > 0 || answered.Load() == 0 {
		t.Errorf("exit code %d, %d requests failed, %d answered, want 0, none, some:\n%s", code, failed.Load(), answered.Load(), &i.log)
	}
}

// More idle connections than the limit allows do not prevent requests, on either address.
func serveBesideIdleConnections(t *testing.T, program string) {
	t.Helper()
	i := startService(t, program, "--worker", "7", "--max-memory", "32MiB", "--health-addr", "127.0.0.1:0") // allows 256 connections
	health := i.line(t)
	for range 600 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(i.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	// A new connection takes the place of an idle one at once.
	for range 5 {
		begun := time.Now()
		for _, url := range []string{i.url + "/livez", i.url + "/v1/ids", health + "/livez", health + "/readyz", health + "/metrics"} {
			if a, err := fetch(url, ""); err != nil || a.status != http.StatusOK {
				t.Errorf("%s: %v, %d", url, err, a.status)
			}
		}
		if took := stall.Took(begun); took > time.Second { // without the time for which the machine stood still
			t.Errorf("five requests took %v, want less than a second", took)
		}
	}
	if a, err := fetch(health, "/v1/ids"); err != nil || a.status != http.StatusNotFound {
		t.Errorf("IDs from the address of health: %v, %d, want 404", err, a.status)
	}
	i.kill()
}

// A connection that waits for a free place, while all places are in use, does not delay the
// shutdown.
func serveEndsWhileFull(t *testing.T, program string) {
	t.Helper()
	args := []string{"--worker", "8", "--timeout", "1h", "--shutdown-timeout", "200ms", "--max-memory", "32MiB"} // allows 256 connections
	i := startService(t, program, append(args, slowFlags...)...)
	ask := func() {
		conn, err := net.Dial("tcp", strings.TrimPrefix(i.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "GET /v1/ids?count=100 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range 400 { // the service closes some of them before it reads them
		ask()
	}
	time.Sleep(time.Second)
	ask() // by now all places are in use, so this one waits
	time.Sleep(time.Second)
	if code := i.stop(t); code != clitest.Failed || !strings.HasSuffix(i.log.String(), "\ngormflake: requests under way were cut off after 200ms: see --shutdown-timeout\n") {
		t.Errorf("exit code %d:\n%.2000s", code, &i.log)
	}
}
