package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

const goodOrder = `{"customer":"Zoë","lines":[{"sku":"TEA","quantity":2,"unit_cents":450},{"sku":"CUP","quantity":1,"unit_cents":0}]}`

func TestAPI(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		handler := newHandler(shopIn(t, db))
		created := request(handler, "POST", "/orders", goodOrder)
		wantStatus(t, created, http.StatusCreated)

		var order Order
		if err := json.Unmarshal(created.Body.Bytes(), &order); err != nil {
			t.Fatal(err)
		}
		if len(order.Lines) != 2 || order.Customer != "Zoë" || order.ID < 1<<53 || order.Lines[1].ID <= order.ID {
			t.Errorf("created %+v", order)
		}
		wantJSON := fmt.Sprintf(`{"id":"%d","customer":"Zoë","lines":[{"id":"%d","sku":"TEA","quantity":2,"unit_cents":450},`+
			`{"id":"%d","sku":"CUP","quantity":1,"unit_cents":0}]}`+"\n", order.ID, order.Lines[0].ID, order.Lines[1].ID)
		if got := created.Body.String(); got != wantJSON {
			t.Errorf("created %s, want %s", got, wantJSON)
		}

		location := created.Result().Header.Get("Location")
		if want := "/orders/" + order.ID.String(); location != want {
			t.Errorf("Location %q, want %q", location, want)
		}
		reopened := request(handler, "GET", location, "")
		wantStatus(t, reopened, http.StatusOK)
		if got := reopened.Body.String(); got != wantJSON {
			t.Errorf("reopened %s, want %s", got, wantJSON)
		}
		missing := request(handler, "GET", "/orders/"+(order.ID+1).String(), "")
		wantProblem(t, missing, http.StatusNotFound, "there is no order "+(order.ID+1).String())
	})
}

func TestListing(t *testing.T) {
	t.Parallel()
	s := shopIn(t, testdb.Open(t, testdb.SQLite))
	handler := newHandler(s)
	if got := request(handler, "GET", "/orders", "").Body.String(); got != `{"orders":[]}`+"\n" {
		t.Errorf("empty listing: %s", got)
	}
	var ids []types.ID
	for range 4 {
		time.Sleep(2 * time.Millisecond) // another tick for each
		var order Order
		if err := json.Unmarshal(request(handler, "POST", "/orders", goodOrder).Body.Bytes(), &order); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, order.ID)
	}
	at := func(i int) string { return s.gen.Layout().Time(ids[i]).Format(time.RFC3339Nano) }
	elsewhere := s.gen.Layout().Time(ids[1]).In(time.FixedZone("", 2*60*60)).Format(time.RFC3339Nano)
	for _, test := range []struct {
		name, since, limit string
		want               []types.ID
	}{
		{"all", "", "", ids},
		{"from the second", at(1), "", ids[1:]},
		{"in another time zone", elsewhere, "", ids[1:]},
		{"two from the second", at(1), "2", ids[1:3]},
		{"before the epoch", "1999-12-31T23:59:59Z", "100", ids},
		{"later", "2079-01-01T00:00:00Z", "", nil},
		{"after the last key", "9999-01-01T00:00:00Z", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			query := url.Values{}
			for key, value := range map[string]string{"since": test.since, "limit": test.limit} {
				if value != "" {
					query.Set(key, value)
				}
			}
			wantListed(t, request(handler, "GET", "/orders?"+query.Encode(), ""), test.want)
		})
	}
}

func wantListed(t *testing.T, got *httptest.ResponseRecorder, want []types.ID) {
	t.Helper()
	wantStatus(t, got, http.StatusOK)
	var answer struct{ Orders []Order }
	if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	var ids []types.ID
	for _, order := range answer.Orders {
		ids = append(ids, order.ID)
		if len(order.Lines) != 2 {
			t.Errorf("order %d has %d lines, want 2", order.ID, len(order.Lines))
		}
	}
	if fmt.Sprint(ids) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", ids, want)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := shopIn(t, testdb.Open(t, testdb.SQLite))
	handler := newHandler(s)
	line := `{"sku":"TEA","quantity":2,"unit_cents":450}`
	order := func(customer, lines string) string { return `{"customer":` + customer + `,"lines":[` + lines + `]}` }
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"empty body", "POST", "/orders", "", 400, "the body is empty"},
		{"no JSON", "POST", "/orders", "customer=Zoë", 400, "the body is not JSON"},
		{"cut off", "POST", "/orders", goodOrder[:40], 400, "the body is not JSON"},
		{"unknown field", "POST", "/orders", `{"id":"42","customer":"Zoë"}`, 400, `unknown field "id"`},
		{"key of a line", "POST", "/orders", order(`"Z"`, `{"id":"42"}`), 400, `unknown field "id"`},
		{"trailing order", "POST", "/orders", goodOrder + goodOrder, 400, "nothing after it"},
		{"trailing garbage", "POST", "/orders", goodOrder + "]", 400, "nothing after it"},
		{"too large", "POST", "/orders", `{"customer":"` + strings.Repeat("x", maxBodyBytes), 400, "larger than 1,048,576 bytes"},
		{"too large after it", "POST", "/orders", goodOrder + strings.Repeat(" ", maxBodyBytes), 400, "nothing after it"},
		{"list", "POST", "/orders", `[]`, 400, "the body must be an object, not a JSON array"},
		{"null", "POST", "/orders", `null`, 400, "customer is missing"},
		{"no customer", "POST", "/orders", `{"lines":[` + line + `]}`, 400, "customer is missing"},
		{"blank customer", "POST", "/orders", order(`" "`, line), 400, "customer is missing"},
		{"long customer", "POST", "/orders", order(`"`+strings.Repeat("ë", 101)+`"`, line), 400, "longer than 100 characters"},
		{"zero character", "POST", "/orders", order(`"a\u0000"`, line), 400, "zero character"},
		{"customer a number", "POST", "/orders", order(`7`, line), 400, "customer must be a string, not a JSON number"},
		{"lines no list", "POST", "/orders", `{"customer":"Z","lines":7}`, 400, "lines must be a list, not a JSON number"},
		{"no lines", "POST", "/orders", `{"customer":"Zoë"}`, 400, "1 to 100 lines, this one has 0"},
		{"empty lines", "POST", "/orders", order(`"Z"`, ""), 400, "1 to 100 lines, this one has 0"},
		{"many lines", "POST", "/orders", order(`"Z"`, line+strings.Repeat(","+line, 100)), 400, "this one has 101"},
		{"no sku", "POST", "/orders", order(`"Z"`, line+`,{"quantity":1}`), 400, "lines[1].sku is missing"},
		{"no quantity", "POST", "/orders", order(`"Z"`, `{"sku":"A"}`), 400, "lines[0].quantity must be 1 to 1,000,000, not 0"},
		{"negative quantity", "POST", "/orders", order(`"Z"`, `{"sku":"A","quantity":-3}`), 400, "not -3"},
		{"half a cup", "POST", "/orders", order(`"Z"`, `{"sku":"A","quantity":0.5}`), 400, "a whole number, not a JSON number 0.5"},
		{"quantity a string", "POST", "/orders", order(`"Z"`, `{"sku":"A","quantity":"3"}`), 400, "a whole number, not a JSON string"},
		{"negative price", "POST", "/orders", order(`"Z"`, `{"sku":"A","quantity":1,"unit_cents":-1}`), 400, "unit_cents must be 0"},

		{"id no number", "GET", "/orders/abc", "", 400, `not "abc"`},
		{"id signed", "GET", "/orders/-7", "", 400, `not "-7"`},
		{"id too large", "GET", "/orders/9223372036854775808", "", 400, "9223372036854775807"},
		{"id with a condition", "GET", "/orders/1%20or%201=1", "", 400, "1 or 1=1"},
		{"since no time", "GET", "/orders?since=yesterday", "", 400, `since must be a time`},
		{"since empty", "GET", "/orders?since=", "", 400, `since must be a time`},
		{"limit zero", "GET", "/orders?limit=0", "", 400, "limit must be 1 to 100"},
		{"limit no number", "GET", "/orders?limit=all", "", 400, "limit must be 1 to 100"},

		{"no order", "GET", "/orders/7", "", 404, "there is no order 7"},
		{"no such path", "GET", "/customers", "", 404, "there is nothing at /customers"},
		{"below an order", "GET", "/orders/7/lines", "", 404, "there is nothing at /orders/7/lines"},
		{"delete an order", "DELETE", "/orders/7", "", 405, "/orders/7 takes GET or HEAD, not DELETE"},
		{"put orders", "PUT", "/orders", goodOrder, 405, "GET or HEAD or POST, not PUT"},
		{"post to the page", "POST", "/", "", 405, "takes GET or HEAD, not POST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := request(handler, test.method, test.path, test.body)
			wantProblem(t, got, test.status, test.want)
			if allow := got.Header().Get("Allow"); (allow != "") != (test.status == http.StatusMethodNotAllowed) {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
	wantRows(t, s.db, &Order{}, 0)
	wantRows(t, s.db, &Line{}, 0)
}

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	handler := newHandler(shopIn(t, testdb.Open(t, testdb.SQLite)))
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(goodOrder))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, r)
	wantProblem(t, got, http.StatusForbidden, "other sites")
}

func TestDatabaseErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	s := shopIn(t, testdb.Open(t, testdb.SQLite))
	if err := s.db.Migrator().DropTable(&Line{}); err != nil {
		t.Fatal(err)
	}
	got := request(newHandler(s), "POST", "/orders", goodOrder)
	wantProblem(t, got, http.StatusInternalServerError, "the order database did not answer as it should")
	wantRows(t, s.db, &Order{}, 0)
}

func TestPage(t *testing.T) {
	t.Parallel()
	handler := newHandler(shopIn(t, testdb.Open(t, testdb.SQLite)))
	got := request(handler, "GET", "/", "")
	wantStatus(t, got, http.StatusOK)
	if kind := got.Header().Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("Content-Type %q", kind)
	}
	for _, outside := range []string{"http://", "https://", "src=", "@import"} {
		if strings.Contains(got.Body.String(), outside) {
			t.Errorf("the page has %q: it must not load anything from outside", outside)
		}
	}
}

func request(handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(body)))
	return answer
}

func wantStatus(t *testing.T, got *httptest.ResponseRecorder, want int) {
	t.Helper()
	if got.Code != want {
		t.Fatalf("status %d, want %d: %s", got.Code, want, got.Body)
	}
}

// wantProblem wants JSON of one field, error, that contains the text.
func wantProblem(t *testing.T, got *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	wantStatus(t, got, status)
	if kind := got.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type %q", kind)
	}
	var body struct {
		Error string `json:"error"`
	}
	decoder := json.NewDecoder(got.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("after the problem: %v", err)
	}
	if !strings.Contains(body.Error, text) {
		t.Errorf("got %q, want %q", body.Error, text)
	}
}
