//go:build unix

package docstest_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// patience is how long the tests wait for events on a loaded machine.
const patience = time.Minute

// runHere are the programs that these tests run. runElsewhere are programs that other
// tests run, or that need a cluster or a service manager.
var (
	runHere      = []string{"gormflake", "curl", "echo", "cat", "ls"}
	runElsewhere = []string{"docker", "go", "make", "goose", "migrate", "kubectl", "systemctl"}
)

// shop is the schema of docs/moving.md, by the scheme of the database's URL.
var shop = map[string]string{
	"sqlite": `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL REFERENCES orders, product TEXT NOT NULL);
CREATE TABLE audit (order_id INTEGER NOT NULL, what TEXT NOT NULL);
`,
	"postgres": `CREATE TABLE orders (id serial PRIMARY KEY, customer text NOT NULL);
CREATE TABLE order_lines (id serial PRIMARY KEY, order_id integer NOT NULL REFERENCES orders, product text NOT NULL);
CREATE TABLE audit (order_id integer NOT NULL, what text NOT NULL);
`,
	"mysql": `CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer VARCHAR(100) NOT NULL);
CREATE TABLE order_lines (id INT AUTO_INCREMENT PRIMARY KEY, order_id INT NOT NULL, product VARCHAR(100) NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id));
CREATE TABLE audit (order_id INT NOT NULL, what VARCHAR(100) NOT NULL);
`,
}

// rows inserts the rows of docs/moving.md.
const rows = `INSERT INTO orders (customer) VALUES ('Ada'), ('Grace');
INSERT INTO order_lines (order_id, product) VALUES (1, 'pen'), (1, 'ink'), (2, 'paper');
INSERT INTO audit (order_id, what) VALUES (1, 'paid');
`

// targets are the databases on which a page's commands run, by the scheme of the page's URLs.
var targets = map[string]testdb.Target{"sqlite": testdb.SQLite, "mysql": testdb.MySQL, "postgres": testdb.Postgres}

// database matches the URL of a database on a page.
var database = regexp.MustCompile(`\b(sqlite|postgres|mysql)://[\w./@-]+`)

// setting matches environment variables that are set for one command.
var setting = regexp.MustCompile(`^(?:[A-Z_]+=\S* )+`)

// The commands of every page print the output that the page shows. The test leaves out the
// programs of runElsewhere.
func TestCommands(t *testing.T) {
	t.Parallel()
	program := build(t)
	ran := 0
	for _, p := range pages(t) {
		for _, scheme := range slices.Sorted(maps.Keys(targets)) {
			blocks := ofScheme(t, p.of("console", "sh"), scheme)
			ran += len(blocks)
			if len(blocks) == 0 {
				continue
			}
			for _, target := range testdb.Alike(targets[scheme]) {
				t.Run(p.name+"/"+string(target), func(t *testing.T) {
					t.Parallel()
					s := &session{t: t, scheme: scheme, target: target, program: program, dir: t.TempDir(), urls: map[string]string{}}
					for _, b := range blocks {
						for _, c := range b.commands(t) {
							s.run(c)
						}
					}
				})
			}
		}
	}
	if ran == 0 {
		t.Error("no page has a command")
	}
}

// ofScheme returns the blocks that name a database of this kind. A block without a database
// runs with SQLite.
func ofScheme(t *testing.T, blocks []block, scheme string) []block {
	t.Helper()
	var found []block
	for _, b := range blocks {
		named := "sqlite"
		for _, d := range database.FindAllStringSubmatch(b.text, -1) {
			named = d[1]
		}
		if named == scheme {
			found = append(found, b)
		}
	}
	return found
}

// TestMain removes the built program at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := buildOnce(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// buildOnce builds the program once, and returns its path.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gormflake")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gormflake")
	out, err := exec.Command("go", "build", "-o", path, "github.com/gormflake/gormflake/cmd/gormflake").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)), os.RemoveAll(dir))
	}
	return path, nil
})

// build returns the path of the built program, or fails the test.
func build(t *testing.T) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	return path
}

// A session runs the commands of a page in order.
type session struct {
	t       *testing.T
	scheme  string
	target  testdb.Target
	program string
	dir     string
	urls    map[string]string // by the URL in the page
	address string            // address of the service that was started last
	code    int               // exit code of the last command
}

// run runs a command of the page, unless another test runs it. A page shows "echo $?" after
// each command that fails. So if any other command follows a failure, the page is wrong, and
// the test fails.
func (s *session) run(c command) {
	s.t.Helper()
	name, _, _ := strings.Cut(setting.ReplaceAllString(c.text, ""), " ")
	switch {
	case slices.Contains(runElsewhere, name):
	case c.text == "echo $?":
		s.compare(c, strconv.Itoa(s.code))
		s.code = 0
	case !slices.Contains(runHere, name):
		s.t.Fatalf("line %d: %s is neither run nor known to be run elsewhere", c.line, name)
	case s.code != 0:
		s.t.Fatalf("line %d: the command before has ended with %d, and the page does not show that", c.line, s.code)
	case strings.HasSuffix(c.text, " &"):
		s.serve(c)
	default:
		s.execute(c)
	}
}

// withRealURLs returns the command with the URLs of databases replaced by URLs of this test's
// databases, and 127.0.0.1:8080 replaced by the address. It creates a database at the first
// use of a URL.
func (s *session) withRealURLs(text, address string) string {
	text = strings.ReplaceAll(text, "127.0.0.1:8080", address)
	return database.ReplaceAllStringFunc(text, func(name string) string {
		if _, made := s.urls[name]; !made {
			s.urls[name] = s.makeDatabase(name)
		}
		return "'" + s.urls[name] + "'"
	})
}

// makeDatabase creates a database with the shop, and returns its URL. name is the URL on the
// page that the database replaces, such as sqlite://shop.db.
func (s *session) makeDatabase(name string) (url string) {
	s.t.Helper()
	url = "sqlite://" + filepath.Join(s.dir, strings.TrimPrefix(name, "sqlite://"))
	if s.scheme != "sqlite" {
		url = testdb.URL(s.t, s.target)
	}
	dialector, err := dsn.Open(url)
	if err != nil {
		s.t.Fatal(err)
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		s.t.Fatal(err)
	}
	for statement := range strings.SplitSeq(strings.TrimSuffix(shop[s.scheme]+rows, ";\n"), ";\n") {
		if err := db.Exec(statement).Error; err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
	pool, err := db.DB()
	if err == nil {
		err = pool.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return url
}

// shell returns a command of the shell that runs in the folder of the page, with gormflake on
// the PATH.
func (s *session) shell(ctx context.Context, text string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "sh", "-c", text)
	shell.Dir = s.dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(s.program)+string(filepath.ListSeparator)+os.Getenv("PATH"), "GORMFLAKE_DSN=", "TZ=UTC")
	return shell
}

// execute runs a command until its end, and compares its output with the page. If the page
// shows no output, the command must succeed.
func (s *session) execute(c command) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	out, err := s.shell(ctx, s.withRealURLs(c.text, s.address)).CombinedOutput()
	s.code = 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.code = exit.ExitCode()
	} else if err != nil {
		s.t.Fatalf("line %d: %s: %v", c.line, c.text, err)
	}
	if c.quiet && s.code != 0 {
		s.t.Fatalf("line %d: %s: %v\n%s", c.line, c.text, err, out)
	}
	s.compare(c, string(out))
}

// compare compares the output of a command with the page.
func (s *session) compare(c command, out string) {
	s.t.Helper()
	if !c.quiet && !matches(c.shown, withoutForeign(lines(out)), deterministic.MatchString(c.text)) {
		s.t.Errorf("line %d: %s\nprints\n%s\nand the page shows\n%s", c.line, c.text, out, strings.Join(c.shown, "\n"))
	}
}

var listening = regexp.MustCompile(`(?m)^listening on http://(.*)$`)

// serve starts a service that runs until the end of the session.
func (s *session) serve(c command) {
	s.t.Helper()
	s.address = "" // of an earlier service of the page
	var out output
	shell := s.shell(s.t.Context(), "exec "+strings.TrimSuffix(s.withRealURLs(c.text, "127.0.0.1:0"), " &"))
	shell.Stdout, shell.Stderr = &out, &out
	shell.Cancel = func() error { return shell.Process.Signal(os.Interrupt) }
	if err := shell.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := shell.Wait(); err != nil && shell.ProcessState.ExitCode() != 0 {
			s.t.Errorf("%s: %v\n%s", c.text, err, out.String())
		}
	})
	for deadline := time.Now().Add(patience); s.address == ""; time.Sleep(5 * time.Millisecond) {
		if found := listening.FindStringSubmatch(out.String()); found != nil {
			s.address = found[1]
		} else if time.Now().After(deadline) {
			s.t.Fatalf("line %d: it does not listen:\n%s", c.line, out.String())
		}
	}
	s.compare(c, out.String())
}

// An output collects what a running service prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// The pages show the schema that the tests use.
func TestShopInPages(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, b := range p.of("sql") {
			scheme, _, named := strings.Cut(b.about, "://")
			if named && strings.TrimSuffix(b.text, rows) != shop[scheme] {
				t.Errorf("%s:%d: the shop is not the one of the tests:\n%s", p.name, b.line, shop[scheme])
			}
		}
	}
}
