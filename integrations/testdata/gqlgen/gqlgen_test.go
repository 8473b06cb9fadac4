package gqlgen_test

import (
	"context"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	"github.com/gormflake/gormflake/integrations/gqlgen"
)

// The code that gqlgen generates reads arguments and writes fields by the methods of
// types.ID, also if an argument or a field is absent.
func TestGqlgenGenerated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, query, want, err string }{
		{"all", `{order(id: "7529595880471527425", after: "1") {id parent}}`, `{"order":{"id":"7529595880471527425","parent":"1"}}`, ""},
		{"absent", `{order(id: "7529595880471527425") {id parent}}`, `{"order":{"id":"7529595880471527425","parent":null}}`, ""},
		{"null", `{order(id: "7529595880471527425", after: null) {id parent}}`, `{"order":{"id":"7529595880471527425","parent":null}}`, ""},
		{"a number", `{order(id: 7529595880471527425) {id parent}}`, `{"order":{"id":"7529595880471527425","parent":null}}`, ""},
		{"typed", `{line {id order}}`, `{"line":{"id":"7529595880471527425","order":"7529595880471527424"}}`, ""},
		{"empty", `{order(id: "") {id}}`, "null", `input: order.id types: ID.UnmarshalGQL("")`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			response := ask(t, test.query)
			if got := string(response.Data); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := response.Errors.Error(); (got == "") != (test.err == "") || !strings.HasPrefix(got, test.err) {
				t.Errorf("error %q; want %q", got, test.err)
			}
		})
	}
}

// ask executes a query, and returns its response.
func ask(t *testing.T, query string) *graphql.Response {
	t.Helper()
	schema := executor.New(gqlgen.NewExecutableSchema(gqlgen.Config{Resolvers: &gqlgen.Resolver{}}))
	ctx := graphql.StartOperationTrace(context.Background())
	operation, errs := schema.CreateOperationContext(ctx, &graphql.RawParams{Query: query})
	if errs != nil {
		t.Fatal(errs)
	}
	answer, ctx := schema.DispatchOperation(ctx, operation)
	return answer(ctx)
}
