package integrations_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
	"github.com/go-chi/chi/v5"
	"github.com/swaggo/swag"

	"github.com/gormflake/gormflake/types"
)

// writeJSON answers with the JSON of v.
func writeJSON(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// ID is a types.ID in inputs and outputs of huma.
type ID struct{ types.ID }

func (ID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]{1,19}$", Examples: []any{"7529595880471527425"}}
}

// humaServer returns an API of huma that answers with the IDs of its path and query, and its
// OpenAPI document.
func humaServer(t *testing.T) (server, *huma.OpenAPI) {
	t.Helper()
	router := chi.NewRouter()
	api := humachi.New(router, huma.DefaultConfig("orders", "1.0.0"))
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[types.ID](), reflect.TypeFor[ID]())
	type output struct {
		Body struct {
			ID    types.ID  `json:"id"`
			After *types.ID `json:"after" nullable:"true"`
		}
	}
	huma.Get(api, "/orders/{id}", func(_ context.Context, in *struct {
		ID    ID `path:"id"`
		After ID `query:"after"`
	},
	) (*output, error) {
		var out output
		out.Body.ID = in.ID.ID
		if !in.After.IsZero() {
			out.Body.After = &in.After.ID
		}
		return &out, nil
	})
	return serve(router), api.OpenAPI()
}

// TestHuma checks that huma reads and writes IDs, and describes them as texts of digits.
func TestHuma(t *testing.T) {
	t.Parallel()
	s, document := humaServer(t)
	s.want(t, "/orders/"+text+"?after=1", http.StatusOK, `"id":"7529595880471527425","after":"1"`)
	s.want(t, "/orders/"+text, http.StatusOK, `"id":"7529595880471527425","after":null`)
	s.want(t, "/orders/x", http.StatusUnprocessableEntity, `"location":"path.id"`)
	s.want(t, "/orders/1?after=x", http.StatusUnprocessableEntity, `"location":"query.after"`)
	s.want(t, "/orders/1?after=", http.StatusOK, `"after":null`)
	get := document.Paths["/orders/{id}"].Get
	for _, schema := range []*huma.Schema{
		get.Parameters[0].Schema, get.Parameters[1].Schema,
		document.Components.Schemas.SchemaFromRef(get.Responses["200"].Content["application/json"].Schema.Ref).Properties["id"],
	} {
		wantText(t, string(must(json.Marshal(schema))(t)), `{"examples":["7529595880471527425"],"pattern":"^[0-9]{1,19}$","type":"string"}`)
	}
}

// TestHumaNull checks that huma, if types.ID has an alias, rejects null for a pointer unless the
// field has the tag nullable:"true" or required:"false". It rejects a number in any case.
func TestHumaNull(t *testing.T) {
	t.Parallel()
	router := chi.NewRouter()
	api := humachi.New(router, huma.DefaultConfig("orders", "1.0.0"))
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[types.ID](), reflect.TypeFor[ID]())
	type input struct {
		Body struct {
			Tagged *types.ID `json:"tagged" nullable:"true"`
			Bare   *types.ID `json:"bare"`
			Free   *types.ID `json:"free" required:"false"`
		}
	}
	huma.Post(api, "/orders", func(context.Context, *input) (*struct{}, error) { return nil, nil })
	for body, want := range map[string]int{
		`{"tagged":null,"bare":"1"}`:            http.StatusNoContent,
		`{"tagged":"1","bare":"1","free":null}`: http.StatusNoContent,
		`{"tagged":"1","bare":null}`:            http.StatusUnprocessableEntity,
		`{"tagged":"1","bare":1}`:               http.StatusUnprocessableEntity,
	} {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if status, got := answer(router, r); status != want {
			t.Errorf("%s: got %d %s, want %d", body, status, got, want)
		}
	}
}

// schemaOfID makes kin-openapi describe IDs as they are in JSON.
func schemaOfID(_ string, t reflect.Type, _ reflect.StructTag, schema *openapi3.Schema) error {
	if t == reflect.TypeFor[types.ID]() {
		*schema = openapi3.Schema{Type: &openapi3.Types{"string"}, Pattern: "^[0-9]{1,19}$", Example: "7529595880471527425", Nullable: schema.Nullable}
	}
	return nil
}

// TestKinOpenAPI checks that the schema of a struct describes IDs as texts of digits, and
// accepts no other values.
func TestKinOpenAPI(t *testing.T) {
	t.Parallel()
	schema := must(openapi3gen.NewSchemaRefForValue(order{}, nil, openapi3gen.SchemaCustomizer(schemaOfID)))(t)
	wantText(t, string(must(json.Marshal(schema.Value.Properties["id"]))(t)),
		`{"example":"7529595880471527425","pattern":"^[0-9]{1,19}$","type":"string"}`)
	for in, valid := range map[string]bool{
		`{"id":"7529595880471527425"}`: true, `{"id":7529595880471527425}`: false, `{"id":"x"}`: false, `{"id":""}`: false,
	} {
		var value any
		if err := json.Unmarshal([]byte(in), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Value.VisitJSON(value); (err == nil) != valid {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestSwag checks a file .swaggo, which replaces the type in all models if swag also
// reads the package types. It reads the package with the flag --parseDependencyLevel 1
// or, faster, as a folder, as here. The tags of the field Parent work without the file
// and the flag. swag has no pattern.
func TestSwag(t *testing.T) {
	t.Parallel()
	parser := swag.New(
		swag.SetOverrides(map[string]string{
			"github.com/gormflake/gormflake/types.ID":                           "string",
			"github.com/gormflake/gormflake/integrations/testdata/swag.OrderID": "string",
		}),
		swag.SetDebugger(log.New(io.Discard, "", 0)),
	)
	if err := parser.ParseAPIMultiSearchDir([]string{"testdata/swag", "../types"}, "main.go", 0); err != nil {
		t.Fatal(err)
	}
	definition := parser.GetSwagger().Definitions["main.Order"]
	wantText(t, string(must(json.Marshal(definition.Properties["id"]))(t)), `{"type":"string"}`)
	wantText(t, string(must(json.Marshal(definition.Properties["typed"]))(t)), `{"type":"string"}`)
	wantText(t, string(must(json.Marshal(definition.Properties["parent"]))(t)),
		`{"type":"string","maxLength":19,"minLength":1,"example":"7529595880471527425"}`)
}
