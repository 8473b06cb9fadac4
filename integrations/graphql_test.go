package integrations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gqlgen "github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/graphql-go"

	"github.com/gormflake/gormflake/types"
)

// GraphID is a types.ID in resolvers of graph-gophers/graphql-go.
type GraphID struct{ types.ID }

func (GraphID) ImplementsGraphQLType(name string) bool { return name == "ID" }

func (id *GraphID) UnmarshalGraphQL(input any) error {
	text, ok := input.(string)
	if !ok {
		return fmt.Errorf("got %T, want the key as a string", input)
	}
	return id.UnmarshalText([]byte(text))
}

// resolver answers the query of TestGraphGophers with its arguments.
type resolver struct{}

// Order returns an order with the IDs of the query's arguments.
func (*resolver) Order(args struct {
	ID    GraphID
	After *GraphID
},
) *orderResolver {
	return &orderResolver{args.ID, args.After}
}

// orderResolver resolves the fields of an order.
type orderResolver struct {
	id    GraphID
	after *GraphID
}

func (o *orderResolver) ID() GraphID     { return o.id }
func (o *orderResolver) After() *GraphID { return o.after }

// TestGraphGophers checks that arguments and fields of the type ID are IDs, also where they
// are absent.
func TestGraphGophers(t *testing.T) {
	t.Parallel()
	schema := graphql.MustParseSchema(`
		type Query { order(id: ID!, after: ID): Order! }
		type Order { id: ID! after: ID }
	`, &resolver{})
	for query, want := range map[string]string{
		`{order(id: "7529595880471527425") {id after}}`:             `{"order":{"id":"7529595880471527425","after":null}}`,
		`{order(id: "7529595880471527425", after: "1") {id after}}`: `{"order":{"id":"7529595880471527425","after":"1"}}`,
	} {
		response := schema.Exec(context.Background(), query, "", nil)
		if response.Errors != nil {
			t.Error(response.Errors)
		}
		wantText(t, string(response.Data), want)
	}
	response := schema.Exec(context.Background(), `{order(id: "x") {id}}`, "", nil)
	if len(response.Errors) == 0 || !strings.Contains(response.Errors[0].Message, `types: ID.UnmarshalText("x")`) {
		t.Errorf("got %v", response.Errors)
	}
}

// TestGqlgenGenerated generates the code of testdata/gqlgen in a copy that contains only
// this folder, and runs its queries.
func TestGqlgenGenerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "gqlgen"), os.DirFS("testdata/gqlgen")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		content := strings.ReplaceAll(readFile(t, file), "=> ../", "=> "+root+"/")
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"tool", "gqlgen", "generate"}, {"test", "."}} {
		run := exec.CommandContext(t.Context(), "go", args...)
		run.Dir = filepath.Join(dir, "gqlgen")
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// TestGqlgen checks the methods by which gqlgen binds a scalar to a Go type. Its
// configuration names the type by
//
//	models: ID: model: github.com/gormflake/gormflake/types.ID
func TestGqlgen(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var id any = sample
	id.(gqlgen.Marshaler).MarshalGQL(&b)
	wantText(t, b.String(), `"7529595880471527425"`)
	for _, in := range []any{text, json.Number(text), sample.Int64()} {
		var got types.ID
		if err := any(&got).(gqlgen.Unmarshaler).UnmarshalGQL(in); err != nil || got != sample {
			t.Errorf("%T is read as %v, %v", in, got, err)
		}
	}
	for _, in := range []any{"", "x", 1.5, true} {
		var got types.ID
		if err := any(&got).(gqlgen.Unmarshaler).UnmarshalGQL(in); err == nil {
			t.Errorf("%v is read as %v; want an error", in, got)
		}
	}
}
