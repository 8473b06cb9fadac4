package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

//go:embed page.html
var page []byte

// serve answers requests until ctx ends, then finishes those that have begun. It
// has no login, so an address without a host is localhost.
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(ctx)
	}
}

type api struct{ db *gorm.DB }

func (a api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("POST /orders", a.create)
	mux.HandleFunc("GET /orders/{id}", a.get)
	// No page of another site may place orders through a visitor's browser.
	return http.NewCrossOriginProtection().Handler(mux)
}

func (a api) create(w http.ResponseWriter, r *http.Request) {
	order, err := readOrder(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		respondError(w, http.StatusBadRequest, err)
		return
	}
	if err := a.db.WithContext(r.Context()).Create(&order).Error; err != nil {
		respondInternal(w, r, err)
		return
	}
	w.Header().Set("Location", "/orders/"+order.ID.String())
	respond(w, http.StatusCreated, order)
}

func (a api) get(w http.ResponseWriter, r *http.Request) {
	// Parse first: GORM takes a condition that is a string for SQL.
	id, err := types.ParseID(r.PathValue("id"))
	if err != nil {
		respondError(w, http.StatusBadRequest, err)
		return
	}
	var order Order
	err = a.db.WithContext(r.Context()).Preload("Lines", byID).First(&order, id).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		respondError(w, http.StatusNotFound, fmt.Errorf("there is no order %d", id))
	case err != nil:
		respondInternal(w, r, err)
	default:
		respond(w, http.StatusOK, order)
	}
}

func readOrder(body io.Reader) (Order, error) {
	var form struct { // without keys, which are not for clients to choose
		Customer string
		Lines    []struct {
			SKU       string
			Quantity  int    `json:"quantity"`
			UnitCents *int64 `json:"unit_cents"` // nil if it is missing
		}
	}
	if err := json.NewDecoder(body).Decode(&form); err != nil {
		return Order{}, fmt.Errorf("the body is not an order: %w", err)
	}
	switch {
	case form.Customer == "":
		return Order{}, errors.New("customer is missing")
	case len(form.Lines) == 0:
		return Order{}, errors.New("lines is empty: want one line or more")
	}
	order := Order{Customer: form.Customer}
	for i, l := range form.Lines {
		switch {
		case l.SKU == "":
			return Order{}, fmt.Errorf("lines[%d].sku is missing", i)
		case l.Quantity < 1:
			return Order{}, fmt.Errorf("lines[%d].quantity is %d: want 1 or more", i, l.Quantity)
		case l.UnitCents == nil:
			return Order{}, fmt.Errorf("lines[%d].unit_cents is missing", i)
		case *l.UnitCents < 0:
			return Order{}, fmt.Errorf("lines[%d].unit_cents is %d: want 0 or more", i, *l.UnitCents)
		}
		order.Lines = append(order.Lines, Line{SKU: l.SKU, Quantity: l.Quantity, UnitCents: *l.UnitCents})
	}
	return order, nil
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "+
		"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // fails if the client has gone
}

func respondInternal(w http.ResponseWriter, r *http.Request, err error) {
	slog.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	respondError(w, http.StatusInternalServerError, errors.New("the database failed"))
}

func respondError(w http.ResponseWriter, status int, err error) {
	respond(w, status, map[string]string{"error": err.Error()})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails if the client has gone
}
