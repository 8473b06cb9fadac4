package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// goodOrder is the body of a request. Its IDs are ignored, because clients do not choose
// keys.
const goodOrder = `{"id":"1","customer":"Zoë","lines":[{"sku":"TEA","quantity":2,"unit_cents":450},{"id":"2","sku":"CUP","quantity":1,"unit_cents":0}]}`

// TestAPI checks that an order can be placed and read again by its key, a string in JSON.
func TestAPI(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		use(t, db)
		handler := api{db}.handler()
		created := request(handler, "POST", "/orders", goodOrder)
		wantStatus(t, created, http.StatusCreated)

		var order Order
		if err := json.Unmarshal(created.Body.Bytes(), &order); err != nil {
			t.Fatal(err)
		}
		if len(order.Lines) != 2 || order.ID < 1<<53 || order.Lines[1].ID <= order.ID {
			t.Fatalf("created %+v, want keys of the generator", order)
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
		wantError(t, missing, http.StatusNotFound, "there is no order "+(order.ID+1).String())
	})
}

// TestBadRequests checks that a wrong request stores nothing, and that its client learns why.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	use(t, db)
	handler := api{db}.handler()
	line := func(text string) string { return `{"customer":"Z","lines":[` + text + `]}` }
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"empty body", "POST", "/orders", "", 400, "the body is not an order"},
		{"cut off", "POST", "/orders", goodOrder[:40], 400, "the body is not an order"},
		{"too large", "POST", "/orders", `{"customer":"` + strings.Repeat("x", 1<<20), 400, "too large"},
		{"no customer", "POST", "/orders", `{}`, 400, "customer is missing"},
		{"no lines", "POST", "/orders", `{"customer":"Z"}`, 400, "want one line or more"},
		{"no sku", "POST", "/orders", line(`{"quantity":1}`), 400, "lines[0].sku is missing"},
		{"no quantity", "POST", "/orders", line(`{"sku":"A","quantity":0}`), 400, "lines[0].quantity is 0: want 1 or more"},
		{"half a cup", "POST", "/orders", line(`{"sku":"A","quantity":0.5}`), 400, "quantity"},
		{"missing quantity", "POST", "/orders", line(`{"sku":"A","unit_cents":5}`), 400, "lines[0].quantity is 0: want 1 or more"},
		{"missing price", "POST", "/orders", line(`{"sku":"A","quantity":1}`), 400, "lines[0].unit_cents is missing or negative: want 0 or more"},
		{"null price", "POST", "/orders", line(`{"sku":"A","quantity":1,"unit_cents":null}`), 400, "lines[0].unit_cents is missing"},
		{"infinite price", "POST", "/orders", line(`{"sku":"A","quantity":1,"unit_cents":Infinity}`), 400, "the body is not an order"},
		{"huge price", "POST", "/orders", line(`{"sku":"A","quantity":1,"unit_cents":1e400}`), 400, "the body is not an order"},
		{"negative price", "POST", "/orders", line(`{"sku":"A","quantity":1,"unit_cents":-1}`), 400, "lines[0].unit_cents is missing or negative"},
		{"id too large", "GET", "/orders/9223372036854775808", "", 400, "9223372036854775808"},
		{"id with a condition", "GET", "/orders/1%20or%201=1", "", 400, "1 or 1=1"},
		{"no order", "GET", "/orders/7", "", 404, "there is no order 7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, request(handler, test.method, test.path, test.body), test.status, test.want)
		})
	}
	wantRows(t, db, &Order{}, 0)
	wantRows(t, db, &Line{}, 0)
}

// TestRepeatedRequestIsOneOrder checks that requests with the same Idempotency-Key create one
// order, even if they arrive at the same time. Another order under that key is an error.
// Without the header, each request creates an order.
func TestRepeatedRequestIsOneOrder(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		use(t, db)
		handler := api{db}.handler()
		post := func(key, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
			r.Header.Set("Idempotency-Key", key)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			return answer
		}
		const key = "0123456789abcdef"
		var group sync.WaitGroup
		answers := make([]*httptest.ResponseRecorder, 8)
		for i := range answers {
			group.Go(func() { answers[i] = post(key, goodOrder) })
		}
		group.Wait()
		created := 0
		for _, answer := range answers {
			if answer.Code == http.StatusCreated {
				created++
			} else {
				wantStatus(t, answer, http.StatusOK)
			}
			if answer.Body.String() != answers[0].Body.String() {
				t.Errorf("answers %s and %s, want one order", answer.Body, answers[0].Body)
			}
		}
		if created != 1 {
			t.Errorf("%d requests created an order, want 1", created)
		}
		wantError(t, post(key, strings.Replace(goodOrder, "TEA", "CUP", 1)), http.StatusUnprocessableEntity, "belongs to another order")
		wantError(t, post("short", goodOrder), http.StatusBadRequest, "want 16 to 64")
		wantRows(t, db, &Order{}, 1)
		wantRows(t, db, &Line{}, 2)
		wantStatus(t, request(handler, "POST", "/orders", goodOrder), http.StatusCreated)
		wantStatus(t, request(handler, "POST", "/orders", goodOrder), http.StatusCreated)
		wantRows(t, db, &Order{}, 3)
	})
}

// TestOtherSitesAreRefused checks that a page of another site cannot place an order through a
// visitor's browser.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(goodOrder))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	got := httptest.NewRecorder()
	api{}.handler().ServeHTTP(got, r)
	wantStatus(t, got, http.StatusForbidden)

	// Older browsers only send the origin.
	r = httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(goodOrder))
	r.Header.Set("Origin", "http://evil.example")
	got = httptest.NewRecorder()
	api{}.handler().ServeHTTP(got, r)
	wantStatus(t, got, http.StatusForbidden)
}

// TestDatabaseErrorsAreNotShown checks that a client does not see the database's error, which
// may contain names of tables.
func TestDatabaseErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	use(t, db)
	if err := db.Migrator().DropTable(&Line{}); err != nil {
		t.Fatal(err)
	}
	got := request(api{db}.handler(), "POST", "/orders", goodOrder)
	wantError(t, got, http.StatusInternalServerError, "the database failed")
	wantRows(t, db, &Order{}, 0)
}

// TestPage checks that the page needs no files from other sites.
func TestPage(t *testing.T) {
	t.Parallel()
	got := request(api{}.handler(), "GET", "/", "")
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

// TestServe checks that a request is answered whose body is still arriving when the
// program is told to stop.
func TestServe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base, ended := startServer(ctx, t, "")

	body, send := io.Pipe()
	status := make(chan int, 1)
	go func() {
		answer, err := postExpecting(base+"orders", body)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		answer.Body.Close()
		status <- answer.StatusCode
	}()
	if _, err := io.WriteString(send, goodOrder[:20]); err != nil {
		t.Fatal(err)
	}
	cancel()
	time.Sleep(50 * time.Millisecond)
	if _, err := io.WriteString(send, goodOrder[20:]); err != nil {
		t.Fatal(err)
	}
	send.Close()
	if got := <-status; got != http.StatusCreated {
		t.Errorf("status %d, want 201", got)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("still running")
	}
}

// postExpecting sends the body only after the handler asks for it, so that the caller knows
// that the request has begun.
func postExpecting(url string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	return (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}).Do(r)
}

// startServer runs the program and reads its address from its output.
func startServer(ctx context.Context, t *testing.T, dsn string) (base string, ended <-chan error) {
	t.Helper()
	printed, stdout := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, dsn, "127.0.0.1:0", log.New(stdout, "", 0))
		stdout.Close()
		done <- err
	}()
	first, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		t.Fatal(<-done)
	}
	base = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(first)
	if base == "" {
		t.Fatalf("no address in %q", first)
	}
	return base, done
}

// request returns the handler's response to a request.
func request(handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(body)))
	return answer
}

// wantStatus ends the test if the response has another status.
func wantStatus(t *testing.T, got *httptest.ResponseRecorder, want int) {
	t.Helper()
	if got.Code != want {
		t.Fatalf("status %d, want %d: %s", got.Code, want, got.Body)
	}
}

// wantError checks that the response is a JSON object whose field error contains the
// text.
func wantError(t *testing.T, got *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	wantStatus(t, got, status)
	if kind := got.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type %q", kind)
	}
	var body struct{ Error string }
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || !strings.Contains(body.Error, text) {
		t.Errorf("got %s, want %q: %v", got.Body, text, err)
	}
}
