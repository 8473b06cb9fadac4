package integrations_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-playground/form/v4"
	"github.com/go-playground/validator/v10"
	"github.com/gofiber/fiber/v3"
	"github.com/gorilla/schema"
	echov4 "github.com/labstack/echo/v4"
	"github.com/labstack/echo/v5"

	"github.com/gormflake/gormflake/types"
)

// filter is the struct that the tests bind. It has a key in the path, a key that may be
// absent, and a list of keys.
type filter struct {
	ID    types.ID   `form:"-" json:"id" param:"id" schema:"-" uri:"id"`
	After *types.ID  `form:"after" json:"after" query:"after" schema:"after"`
	Only  []types.ID `form:"only" json:"only" query:"only" schema:"only"`
}

// filterPath is a request with all keys, and filterJSON is the filter that it must bind.
// noFilter is the filter of a request with only the key in the path.
const (
	filterPath = "/orders/" + text + "?after=7529595880471527424&only=1&only=" + text
	filterJSON = `{"id":"7529595880471527425","after":"7529595880471527424","only":["1","7529595880471527425"]}`
	noFilter   = `{"id":"7529595880471527425","after":null,"only":null}`
)

// server answers a GET with the bound filter, or with the binder's error.
type server func(target string) (status int, body string)

// serve returns the server of a handler.
func serve(handler http.Handler) server {
	return func(target string) (int, string) {
		return answer(handler, httptest.NewRequest(http.MethodGet, target, nil))
	}
}

// answer returns the handler's answer to a request.
func answer(handler http.Handler, r *http.Request) (status int, body string) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// want checks the status of the answer to a GET, and that its body contains the text.
func (s server) want(t *testing.T, target string, status int, body string) {
	t.Helper()
	if gotStatus, got := s(target); gotStatus != status || !strings.Contains(got, body) {
		t.Errorf("%s: got %d %s\nwant %d %s", target, gotStatus, got, status, body)
	}
}

// TestGin checks that gin binds keys in the path and the query, and that a text that is no
// number, or empty, is an error.
func TestGin(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/orders/:id", func(c *gin.Context) {
		var f filter
		if err := errors.Join(c.ShouldBindUri(&f), c.ShouldBindQuery(&f)); err != nil {
			c.String(http.StatusBadRequest, err.Error())
			return
		}
		c.JSON(http.StatusOK, f)
	})
	s := serve(router)
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/x", http.StatusBadRequest, `types: ID.UnmarshalParam("x")`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `types: ID.UnmarshalParam(""): empty: want decimal digits`)
	s.want(t, "/orders/1?only=1&only=", http.StatusBadRequest, `types: ID.UnmarshalParam(""): empty`)
}

// TestEchoV5 checks that echo binds keys in the path and the query, and names the wrong
// parameter in its error.
func TestEchoV5(t *testing.T) {
	t.Parallel()
	router := echo.New()
	router.GET("/orders/:id", func(c *echo.Context) error {
		var f filter
		if err := c.Bind(&f); err != nil {
			return c.String(http.StatusBadRequest, err.Error())
		}
		return c.JSON(http.StatusOK, f)
	})
	s := serve(router)
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/x", http.StatusBadRequest, `err=id: types: ID.UnmarshalParam("x")`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `err=after: types: ID.UnmarshalParam("")`)
	s.want(t, "/orders/1?only=1&only=", http.StatusBadRequest, `err=only: types: ID.UnmarshalParam("")`)
}

// TestEchoV4 checks that echo binds keys in the path and the query. Its error does not name
// the wrong parameter.
func TestEchoV4(t *testing.T) {
	t.Parallel()
	router := echov4.New()
	router.GET("/orders/:id", func(c echov4.Context) error {
		var f filter
		if err := c.Bind(&f); err != nil {
			return c.String(http.StatusBadRequest, err.Error())
		}
		return c.JSON(http.StatusOK, f)
	})
	s := serve(router)
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/x", http.StatusBadRequest, `types: ID.UnmarshalParam("x")`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `types: ID.UnmarshalParam("")`)
	s.want(t, "/orders/1?only=1&only=", http.StatusBadRequest, `types: ID.UnmarshalParam("")`)
}

// TestEchoV4NamesParameter checks that the error names the parameter if echo v4 binds
// single parameters.
func TestEchoV4NamesParameter(t *testing.T) {
	t.Parallel()
	router := echov4.New()
	router.GET("/orders", func(c echov4.Context) error {
		var after types.ID
		if err := echov4.QueryParamsBinder(c).TextUnmarshaler("after", &after).BindError(); err != nil {
			return echov4.NewHTTPError(http.StatusBadRequest, err.Error())
		}
		return c.JSON(http.StatusOK, after)
	})
	s := serve(router)
	s.want(t, "/orders?after="+text, http.StatusOK, `"`+text+`"`)
	s.want(t, "/orders?after=x", http.StatusBadRequest, `field=after`)
	s.want(t, "/orders?after=", http.StatusOK, `"0"`)
}

// TestFiber checks that fiber binds keys in the path and the query. In a list it reads an
// empty text as 0.
func TestFiber(t *testing.T) {
	t.Parallel()
	router := fiber.New()
	router.Get("/orders/:id", func(c fiber.Ctx) error {
		var f filter
		if err := c.Bind().WithAutoHandling().URI(&f); err != nil {
			return err
		}
		if err := c.Bind().WithAutoHandling().Query(&f); err != nil {
			return err
		}
		return c.JSON(f)
	})
	s := server(func(target string) (int, string) {
		response, err := router.Test(httptest.NewRequest(http.MethodGet, target, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	})
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/x", http.StatusBadRequest, `error converting value for "id"`)
	s.want(t, "/orders/1?after=x", http.StatusBadRequest, `error converting value for "after"`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `error converting value for "after"`)
	s.want(t, "/orders/1?only=1&only=", http.StatusOK, `"only":["1","0"]`)
}

// decodeWith serves filters with chi and a decoder of forms.
func decodeWith(decode func(dst any, values map[string][]string) error) server {
	router := chi.NewRouter()
	router.Get("/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		var f filter
		var err error
		if f.ID, err = types.ParseID(chi.URLParam(r, "id")); err == nil {
			err = decode(&f, r.URL.Query())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		writeJSON(w, f)
	})
	return serve(router)
}

// TestChiWithForm checks that a decoder with a function for IDs binds keys in the query.
func TestChiWithForm(t *testing.T) {
	t.Parallel()
	decoder := form.NewDecoder()
	decoder.RegisterCustomTypeFunc(func(values []string) (any, error) { return types.ParseID(values[0]) }, types.ID(0))
	s := decodeWith(func(dst any, values map[string][]string) error { return decoder.Decode(dst, url.Values(values)) })
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/x", http.StatusBadRequest, `types: ParseID("x")`)
	s.want(t, "/orders/1?after=x", http.StatusBadRequest, `Field Namespace:after ERROR:types: ParseID("x")`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `Field Namespace:after ERROR:types: ParseID("")`)
	s.want(t, "/orders/1?only=1&only=", http.StatusBadRequest, `Field Namespace:only ERROR:types: ParseID("")`)
}

// TestGorillaSchema checks that the decoder binds keys in the query. In a list it drops an
// empty text.
func TestGorillaSchema(t *testing.T) {
	t.Parallel()
	s := decodeWith(schema.NewDecoder().Decode)
	s.want(t, "/orders/1?only=1&only=", http.StatusOK, `"only":["1"]`)
	s.want(t, filterPath, http.StatusOK, filterJSON)
	s.want(t, "/orders/"+text, http.StatusOK, noFilter)
	s.want(t, "/orders/1?after=x", http.StatusBadRequest, `error converting value for "after"`)
	s.want(t, "/orders/1?after=", http.StatusBadRequest, `error converting value for "after"`)

	defer func() {
		if recover() == nil {
			t.Error("a default in a tag is read; the page says that it panics")
		}
	}()
	var tagged struct {
		ID types.ID `schema:"id,default:7529595880471527425"`
	}
	_ = schema.NewDecoder().Decode(&tagged, nil)
}

// TestValidator checks that tags of integers apply, and that required rejects the zero
// ID.
func TestValidator(t *testing.T) {
	t.Parallel()
	type line struct {
		OrderID types.ID  `validate:"required,gt=0"`
		Parent  *types.ID `validate:"omitempty,gt=0"`
	}
	validate := validator.New()
	negative := types.ID(-1)
	for _, test := range []struct {
		line line
		want string // a part of the error; empty if the line is valid
	}{
		{line{OrderID: sample}, ""},
		{line{}, "'OrderID' failed on the 'required' tag"},
		{line{OrderID: negative}, "'OrderID' failed on the 'gt' tag"},
		{line{OrderID: sample, Parent: &negative}, "'Parent' failed on the 'gt' tag"},
	} {
		err := validate.Struct(test.line)
		if test.want == "" && err != nil {
			t.Error(err)
		} else if test.want != "" {
			wantError(t, err, test.want)
		}
	}
}
