package main

import (
	_ "embed"
	"errors"
	"math"
	"net/http"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

//go:embed page.html
var page []byte

// newHandler is the API and the page. A path that is known but not with the
// request's method falls through to the pattern without one.
func newHandler(s *shop) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("POST /orders", handle(s.createOrder))
	mux.HandleFunc("GET /orders", handle(s.listOrders))
	mux.HandleFunc("GET /orders/{id}", handle(s.getOrder))

	mux.HandleFunc("/{$}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/orders", methodNotAllowed("GET, HEAD, POST"))
	mux.HandleFunc("/orders/{id}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/", notFound)
	return sameOrigin(mux)
}

// createOrder stores an order with its lines and answers with what was stored.
func (s *shop) createOrder(w http.ResponseWriter, r *http.Request) error {
	order, err := readOrder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return err
	}
	orders := []Order{order}
	if err := insertBatches(s.db.WithContext(r.Context()), orders); err != nil {
		return err
	}
	w.Header().Set("Location", "/orders/"+orders[0].ID.String())
	return writeJSON(w, http.StatusCreated, orders[0])
}

func (s *shop) getOrder(w http.ResponseWriter, r *http.Request) error {
	id, err := types.ParseID(r.PathValue("id"))
	if err != nil {
		return badRequest("an order's id is a decimal number up to %d, not %q", math.MaxInt64, r.PathValue("id"))
	}
	var order Order
	err = s.db.WithContext(r.Context()).Preload("Lines", byID).First(&order, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return &problem{http.StatusNotFound, "there is no order " + id.String()}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, order)
}

// listOrders finds orders by the time they were placed without a column for
// it: the smallest key of that time is where the scan of the primary key starts.
func (s *shop) listOrders(w http.ResponseWriter, r *http.Request) error {
	since, limit, err := readListing(r.URL.Query())
	if err != nil {
		return err
	}
	answer := struct {
		Orders []Order `json:"orders"`
	}{[]Order{}}
	err = s.db.WithContext(r.Context()).
		Where("id >= ?", s.gen.Layout().Min(since)).
		Preload("Lines", byID).Order("id").Limit(limit).Find(&answer.Orders).Error
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "+
			"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // an error means that the client has gone
}
