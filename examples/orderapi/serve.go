package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

//go:embed page.html
var page []byte

// serve answers requests until ctx ends, and then finishes requests that have begun. The API has
// no login, so an address without a host, such as ":8080", means localhost, and not all
// addresses of the machine.
func serve(ctx context.Context, address string, h http.Handler, out *log.Logger) error {
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	out.Printf("Open http://%s/ in a browser; Ctrl-C stops.", listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		// ctx has ended, so Shutdown needs a context of its own.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(ctx)
	}
}

// api answers requests for orders.
type api struct{ db *gorm.DB }

// handler returns the API and its page.
func (a api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("POST /orders", answer(a.create))
	mux.HandleFunc("GET /orders/{id}", answer(a.get))
	// This rejects requests from pages of other sites, which could otherwise place orders through
	// a visitor's browser.
	return http.NewCrossOriginProtection().Handler(mux)
}

// create places the order in the request, and returns it with the status of the answer. If an
// earlier request with the same Idempotency-Key has placed the order already, create returns
// the earlier order, because the client may repeat a request whose answer was lost. An error
// of the database has a status below 400, which answer replaces by 500.
func (a api) create(r *http.Request) (int, Order, error) {
	order, err := readOrder(r)
	if err != nil {
		return http.StatusBadRequest, order, err
	}
	db := a.db.WithContext(r.Context())
	if err = db.Create(&order).Error; err == nil {
		return http.StatusCreated, order, nil
	}
	// The unique index rejects the order if an order with this request key exists. Otherwise err
	// is another error of the database, which answer logs.
	placed, missing := find(db, "request_key = ?", order.RequestKey)
	switch {
	case missing != nil:
		return http.StatusCreated, order, err
	case !sameContent(placed, order):
		return http.StatusUnprocessableEntity, order, errors.New("the Idempotency-Key belongs to another order: want a new one for each order")
	}
	return http.StatusOK, placed, nil
}

// sameContent reports whether the fields that clients choose are equal in both orders.
func sameContent(a, b Order) bool {
	return a.Customer == b.Customer && slices.EqualFunc(a.Lines, b.Lines, func(x, y Line) bool {
		return x.SKU == y.SKU && x.Quantity == y.Quantity && x.UnitCents == y.UnitCents
	})
}

// get returns the order whose ID is in the path of the request, with the status of the answer.
func (a api) get(r *http.Request) (int, Order, error) {
	// Parse the ID first, because GORM treats a condition that is a string as SQL.
	id, err := types.ParseID(r.PathValue("id"))
	if err != nil {
		return http.StatusBadRequest, Order{}, err
	}
	order, err := find(a.db.WithContext(r.Context()), id)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return http.StatusNotFound, order, fmt.Errorf("there is no order %d", id)
	}
	return http.StatusOK, order, err
}

// find returns the order that meets the condition, with its lines. condition is as for Take of
// GORM, an ID or SQL with its arguments.
func find(db *gorm.DB, condition ...any) (order Order, err error) {
	err = db.Preload("Lines", byID).Take(&order, condition...).Error
	return order, err
}

// byID sorts the lines of an order by their keys.
func byID(db *gorm.DB) *gorm.DB { return db.Order("id") }

// requestKey matches a valid Idempotency-Key. It must not be short, because a client might use
// a short key for two orders.
var requestKey = regexp.MustCompile(`^[0-9A-Za-z_-]{16,64}$`)

// orderRequest has the fields of an order that clients choose, which do not include keys.
// A price that is missing or null is nil, so that no item is sold for 0 by mistake.
type orderRequest struct {
	Customer string `json:"customer"`
	Lines    []struct {
		SKU       string `json:"sku"`
		Quantity  int    `json:"quantity"`
		UnitCents *int64 `json:"unit_cents"`
	} `json:"lines"`
}

// readOrder returns the order in the request, without keys, or an error that explains the first
// mistake.
func readOrder(r *http.Request) (order Order, err error) {
	var request orderRequest
	key, err := r.Header.Get("Idempotency-Key"), json.NewDecoder(r.Body).Decode(&request)
	switch {
	case err != nil:
		return order, fmt.Errorf("the body is not an order: %w", err)
	case request.Customer == "":
		return order, errors.New("customer is missing")
	case len(request.Lines) == 0:
		return order, errors.New("lines is empty: want one line or more")
	case key != "" && !requestKey.MatchString(key):
		return order, fmt.Errorf("Idempotency-Key %.80q: want 16 to 64 letters, digits, - or _", key)
	case key != "": // without a key, each request places an order of its own
		order.RequestKey = &key
	}
	order.Customer = request.Customer
	for i, l := range request.Lines {
		switch {
		case l.SKU == "":
			return order, fmt.Errorf("lines[%d].sku is missing", i)
		case l.Quantity < 1:
			return order, fmt.Errorf("lines[%d].quantity is %d: want 1 or more", i, l.Quantity)
		case l.UnitCents == nil || *l.UnitCents < 0:
			return order, fmt.Errorf("lines[%d].unit_cents is missing or negative: want 0 or more", i)
		}
		order.Lines = append(order.Lines, Line{SKU: l.SKU, Quantity: l.Quantity, UnitCents: *l.UnitCents})
	}
	return order, nil
}

// servePage sends the page. By the Content-Security-Policy, the page may send requests only to
// this program.
func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "+
		"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // fails if the client has gone
}

// answer returns a handler that calls handle, and writes the order that handle returns, or its
// error, as JSON. If handle returns an error with a status below 400, the error is not a mistake
// of the client. answer then logs it, and answers with status 500 and without its text, which
// may show details of the database.
func answer(handle func(*http.Request) (status int, order Order, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		status, order, err := handle(r)
		if err != nil && status < http.StatusBadRequest {
			status = http.StatusInternalServerError
			slog.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			err = errors.New("the database failed")
		}
		var body any = order
		if err != nil {
			body = map[string]string{"error": err.Error()}
		} else if r.Method == http.MethodPost {
			w.Header().Set("Location", "/orders/"+order.ID.String())
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // fails if the client has gone
	}
}
