package integrations_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testFunc matches a test in a source file. libraryRow matches a row of the page, quoted a
// library in it, and fragment a block of code.
var (
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	libraryRow = regexp.MustCompile(`(?m)^- (.*?): `)
	quoted     = regexp.MustCompile("`([^`]+)`")
	fragment   = regexp.MustCompile("(?ms)^```(?:go|yaml)\n(.*?)^```$")
)

// testsOf contains the tests of each row of docs/integrations.md. A test of another
// folder is named folder.TestIt.
var testsOf = map[string][]string{
	"encoding/json":                       {"TestEncodingJSON"},
	"encoding/json/v2":                    {"TestEncodingJSONv2"},
	"github.com/bytedance/sonic":          {"TestSonic"},
	"github.com/goccy/go-json":            {"TestGoccyJSON"},
	"github.com/json-iterator/go":         {"TestJSONIterator"},
	"encoding/xml":                        {"TestXML"},
	"gopkg.in/yaml.v3":                    {"TestYAMLv3"},
	"github.com/goccy/go-yaml":            {"TestGoccyYAML"},
	"github.com/BurntSushi/toml":          {"TestBurntSushiTOML"},
	"github.com/pelletier/go-toml/v2":     {"TestPelletierTOML"},
	"github.com/vmihailenco/msgpack/v5":   {"TestMsgpack"},
	"github.com/fxamacker/cbor/v2":        {"TestCBOR"},
	"encoding/gob":                        {"TestGob", "TestGobSession"},
	"go.mongodb.org/mongo-driver/v2/bson": {"TestBSON"},
	"google.golang.org/protobuf":          {"TestProtobuf"},
	"github.com/gin-gonic/gin":            {"TestGin", "TestGinPublicIDs", "TestGinFormSetsNoKey"},
	"github.com/labstack/echo/v5":         {"TestEchoV5"},
	"github.com/labstack/echo/v4":         {"TestEchoV4", "TestEchoV4NamesParameter"},
	"github.com/gofiber/fiber/v3":         {"TestFiber"},
	"github.com/go-chi/chi/v5 with github.com/go-playground/form/v4": {"TestChiWithForm"},
	"github.com/gorilla/schema":                                      {"TestGorillaSchema"},
	"github.com/danielgtaylor/huma/v2":                               {"TestHuma", "TestHumaNull"},
	"github.com/go-playground/validator/v10":                         {"TestValidator"},
	"github.com/swaggo/swag":                                         {"TestSwag"},
	"github.com/getkin/kin-openapi":                                  {"TestKinOpenAPI"},
	"github.com/99designs/gqlgen":                                    {"TestGqlgenGenerated", "TestGqlgen"},
	"github.com/graph-gophers/graphql-go":                            {"TestGraphGophers"},
	"log/slog":                                                       {"TestSlog"},
	"go.uber.org/zap":                                                {"TestZap"},
	"github.com/rs/zerolog":                                          {"TestZerolog"},
	"github.com/spf13/pflag":                                         {"TestPflag"},
	"github.com/caarlos0/env/v11":                                    {"TestEnv"},
	"github.com/spf13/viper":                                         {"TestViper"},
	"github.com/go-viper/mapstructure/v2":                            {"TestMapstructure"},
	"github.com/jinzhu/copier":                                       {"TestCopier"},
	"go.opentelemetry.io/contrib/bridges/prometheus":                 {"TestOpenTelemetryMetrics"},
	"github.com/knadh/koanf/v2":                                      {"TestKoanf"},
	"fmt":                                                            {"TestLoose"},
	"github.com/gocarina/gocsv":                                      {"TestGocsv"},
	"github.com/xuri/excelize/v2":                                    {"TestExcelize"},
	"github.com/hamba/avro/v2":                                       {"TestAvro"},
	"go.uber.org/fx":                                                 {"TestFx"},
	"github.com/Masterminds/squirrel":                                {"TestSquirrel"},
	"github.com/doug-martin/goqu/v9":                                 {"TestGoqu"},
	"github.com/go-gormigrate/gormigrate/v2":                         {"TestGormigrate"},
	"github.com/DATA-DOG/go-sqlmock":                                 {"TestKeys", "TestStatic", "TestAutoIncrement"},
	"database/sql":                                                   {"TestOptional"},
	"github.com/jackc/pgx/v5":                                        {"TestPgx"},
	"github.com/jackc/pgx/v5/stdlib":                                 {"TestPgxStdlib"},
	"github.com/lib/pq":                                              {"TestLibPQ"},
	"github.com/jmoiron/sqlx":                                        {"TestSqlx"},
	"entgo.io/ent":                                                   {"TestEnt", "TestEntGenerated"},
	"sqlc":                                                           {"TestSqlc"},
	"github.com/redis/go-redis/v9":                                   {"TestGoRedis"},
	"gorm.io/gen":                                                    {"TestGormGen"},
	"gorm.io/cli/gorm":                                               {"TestGormCLI"},
	"gorm.io/datatypes":                                              {"TestDatatypes"},
	"gorm.io/plugin/dbresolver":                                      {"TestDBResolver", "TestDBResolverLooksAtTheSource", "TestLeaseWithDBResolver", "TestLeaseWithReplicasOnly", "TestLeaseInTransactionOfDBResolver"},
	"gorm.io/plugin/soft_delete":                                     {"TestSoftDelete"},
	"gorm.io/plugin/opentelemetry":                                   {"TestOpenTelemetry"},
	"gorm.io/sharding":                                               {"examples/sharding.TestRun"},
	"github.com/glebarez/sqlite":                                     {"TestGlebarezSQLite"},
	"github.com/ncruces/go-sqlite3/gormlite":                         {"TestNcrucesSQLite"},
}

// TestPage compares docs/integrations.md with the tests. Each row must have a test that
// imports its libraries, each test must have a row, and this module must contain each
// fragment.
func TestPage(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../docs/integrations.md")
	sources := map[string]string{} // by test
	var all strings.Builder
	for _, file := range sourceFiles(t) {
		source := readFile(t, file)
		all.WriteString(source)
		for _, found := range testFunc.FindAllStringSubmatch(source, -1) {
			sources[found[1]] = source
		}
	}
	delete(sources, "TestPage")
	delete(sources, "TestLibraries")                                          // a test of docs/without-gorm.md, which has a separate TestPage
	for _, test := range []string{"TestManifests", "TestPodsAreRestricted"} { // tests of files of this repository, not of a library
		delete(sources, test)
	}
	for _, test := range checkRows(t, page, sources) {
		t.Errorf("testsOf has no row for %s", test)
	}
	for _, block := range fragment.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(flat(all.String()), flat(block[1])) {
			t.Errorf("this module does not have this fragment of docs/integrations.md:\n%s", block[1])
		}
	}
}

// checkRows compares the rows of the page with testsOf, and returns the tests that have
// no row.
func checkRows(t *testing.T, page string, sources map[string]string) (unused []string) {
	t.Helper()
	unused = slices.Sorted(maps.Keys(sources))
	missing := maps.Clone(testsOf)
	libraries, _, _ := strings.Cut(page, "## Optional IDs")
	for _, row := range libraryRow.FindAllStringSubmatch(libraries, -1) {
		name := strings.ReplaceAll(row[1], "`", "")
		if len(testsOf[name]) == 0 {
			t.Errorf("testsOf has no test for the row %q", name)
		}
		delete(missing, name)
		for _, test := range testsOf[name] {
			checkImports(t, row[1], sourceOf(t, test, sources))
			unused = slices.DeleteFunc(unused, func(other string) bool { return other == test })
		}
	}
	for name := range missing {
		t.Errorf("docs/integrations.md has no row for %q", name)
	}
	return unused
}

// sourceOf returns the source of a test, or of the program that a test of another folder
// runs.
func sourceOf(t *testing.T, test string, sources map[string]string) string {
	t.Helper()
	if folder, _, ok := strings.Cut(test, "."); ok {
		return readFile(t, filepath.Join("..", folder, "main.go"))
	}
	source, ok := sources[test]
	if !ok {
		t.Errorf("testsOf names %s, which does not exist", test)
	}
	return source
}

// checkImports checks that a test imports the libraries of its row, which the row quotes.
func checkImports(t *testing.T, row, source string) {
	t.Helper()
	for _, library := range quoted.FindAllStringSubmatch(row, -1) {
		if !strings.Contains(source, `"`+library[1]) {
			t.Errorf("the test of %s does not import it", library[1])
		}
	}
}

// readFile returns the text of a file.
func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// sourceFiles returns the source files of the module, and the configurations of
// generators.
func sourceFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if slices.Contains([]string{".go", ".yml", ".yaml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return files
}

// flat returns the source with single blanks, because its indentation differs from the
// page's.
func flat(source string) string { return strings.Join(strings.Fields(source), " ") }
