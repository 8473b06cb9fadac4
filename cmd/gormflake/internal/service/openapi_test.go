package service_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// document returns the OpenAPI document of the service.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(get(open(t, nil), "/openapi.json").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every answer matches the OpenAPI document, and every status that the document lists for a
// path has been seen here, except for two that other tests cover: 421, by TestForeignHosts, and
// 503 of the workers, by TestFenced.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	doc := document(t)
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	store := leasetest.NewMemory()
	gen := leasedGenerator(t, store, lease.WithWorker(2))
	withStore := func(c *service.Config) { c.Store = store }
	// issuing is open to all, guarded requires a token, and decoding has no generator. The
	// generator of stopped cannot issue IDs any more.
	issuing, guarded, decoding := open(t, gen, withStore), open(t, gen, withStore, withToken), open(t, nil)
	stopped := open(t, generatorWithoutWindow(t, func(context.Context) error { return errors.New("down") }))
	seen := map[string][]string{}
	for _, test := range []struct {
		handler http.Handler
		targets []string
		headers []string
	}{
		{issuing, []string{
			"/v1/ids", "/v1/ids?count=3", "/v1/ids?count=0", "/v1/ids/2124189853926044565", "/v1/ids/x", "/v1/layout",
			"/v1/layout?x=1", "/v1/workers", "/v1/workers?x=1", "/livez", "/readyz", "/healthz", "/metrics", "/openapi.json", "/openapi.json?x=1",
		}, nil},
		{issuing, []string{"/v1/ids"}, []string{"Sec-Fetch-Site", "cross-site"}},
		{issuing, []string{"/v1/ids?count=3"}, []string{"Accept", "text/plain"}},
		{guarded, []string{"/v1/workers"}, []string{"Authorization", "Bearer " + secret}},
		{guarded, []string{"/v1/ids", "/v1/ids/5", "/v1/layout", "/v1/workers", "/metrics"}, nil},
		{decoding, []string{"/v1/ids", "/v1/workers", "/readyz"}, nil},
		{stopped, []string{"/v1/ids", "/readyz", "/healthz"}, nil},
	} {
		for _, target := range test.targets {
			w := get(test.handler, target, test.headers...)
			path := checkAnswer(t, router, target, w)
			seen[path] = append(seen[path], strconv.Itoa(w.Code))
		}
	}
	elsewhere := map[string]string{"/v1/workers": "503"}
	for path, item := range doc.Paths.Map() {
		for code := range item.Get.Responses.Map() {
			if code != "421" && code != elsewhere[path] && !slices.Contains(seen[path], code) {
				t.Errorf("GET %s: no answer of status %s has been seen", path, code)
			}
		}
	}
}

// The document has the largest count that this server accepts. It does not forbid further
// fields in answers, because a later version may add some.
func TestOpenAPIOfThisServer(t *testing.T) {
	t.Parallel()
	handler := open(t, nil, func(c *service.Config) { c.MaxCount = 77 })
	text := get(handler, "/openapi.json").Body.String()
	if !strings.Contains(text, `"maximum": 77`) || strings.Contains(text, "1000000") {
		t.Error("the document does not have the limit of the server, 77, or has another one")
	}
	if strings.Contains(text, `"additionalProperties": false`) {
		t.Error("the document forbids fields that a later version may add")
	}
}

// checkAnswer validates an answer against the document, and returns the document's path for
// the target.
func checkAnswer(t *testing.T, router routers.Router, target string, w *httptest.ResponseRecorder) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	route, params, err := router.FindRoute(r)
	if err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 w.Code,
		Header:                 w.Header(),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	}
	answer.SetBodyBytes(w.Body.Bytes())
	if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
		t.Errorf("GET %s: %v", target, err)
	}
	return route.Path
}

// The service and the document have the same paths. The metrics show the paths of the
// service, because each request is counted under its route.
func TestOpenAPIHasEveryPath(t *testing.T) {
	t.Parallel()

	handler := open(t, fixedGenerator(t))
	var counted []string
	for path, item := range document(t).Paths.Map() {
		if item.Get.Security == nil {
			t.Errorf("%s does not say whether it wants a token", path) // redocly lint reports this as an error
		}
		get(handler, path)
		counted = append(counted, path)
	}
	get(handler, "/v1/other")
	w := get(handler, "/metrics")
	for _, match := range regexp.MustCompile(`_count\{code="\d+",route="([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		// Paths that do not exist are counted under /v1/.
		if path := match[1]; path != "/v1/" && !slices.Contains(counted, path) {
			t.Errorf("%s is not in the document", path)
		}
	}
}
