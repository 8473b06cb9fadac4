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
	"net/netip"
	"regexp"
	"slices"
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
	if err == nil {
		order.RequestKey, err = requestKey(r)
	}
	if err != nil {
		respondError(w, http.StatusBadRequest, err)
		return
	}
	status, err := http.StatusCreated, a.db.WithContext(r.Context()).Create(&order).Error
	if err != nil && order.RequestKey != nil { // perhaps the request came before
		status, err = a.replay(r.Context(), &order, err)
	}
	switch {
	case errors.Is(err, errOtherOrder):
		respondError(w, http.StatusUnprocessableEntity, err)
	case err != nil:
		respondInternal(w, r, err)
	default:
		w.Header().Set("Location", "/orders/"+order.ID.String())
		respond(w, status, order)
	}
}

var errOtherOrder = errors.New("the Idempotency-Key belongs to another order: want a new one for each order")

// replay replaces an order that could not be created by the one that an earlier
// request with the same key has placed. If there is none, it returns failed.
func (a api) replay(ctx context.Context, order *Order, failed error) (int, error) {
	var placed Order
	err := a.db.WithContext(ctx).Preload("Lines", byID).Where("request_key = ?", *order.RequestKey).Take(&placed).Error
	switch {
	case err != nil:
		return 0, failed
	case !sameContent(placed, *order):
		return 0, errOtherOrder
	}
	*order = placed
	return http.StatusOK, nil
}

// sameContent compares what the client has written.
func sameContent(a, b Order) bool {
	return a.Customer == b.Customer && slices.EqualFunc(a.Lines, b.Lines, func(x, y Line) bool {
		return x.SKU == y.SKU && x.Quantity == y.Quantity && x.UnitCents == y.UnitCents
	})
}

// requestKey is nil without the header: each request is then an order.
func requestKey(r *http.Request) (*string, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return nil, nil
	}
	if !regexp.MustCompile(`^[0-9A-Za-z_-]{16,64}$`).MatchString(key) {
		return nil, fmt.Errorf("Idempotency-Key %.80q: want 16 to 64 letters, digits, - or _", key)
	}
	return &key, nil
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

// An orderRequest has what clients choose of an order, which is not its keys. What
// they leave out or set to null is nil, so that nothing is sold for 0 by mistake.
type orderRequest struct {
	Customer string `json:"customer"`
	Lines    []struct {
		SKU       string `json:"sku"`
		Quantity  *int   `json:"quantity"`
		UnitCents *int64 `json:"unit_cents"`
	} `json:"lines"`
}

func readOrder(body io.Reader) (Order, error) {
	var request orderRequest
	if err := json.NewDecoder(body).Decode(&request); err != nil {
		return Order{}, fmt.Errorf("the body is not an order: %w", err)
	}
	switch {
	case request.Customer == "":
		return Order{}, errors.New("customer is missing")
	case len(request.Lines) == 0:
		return Order{}, errors.New("lines is empty: want one line or more")
	}
	order := Order{Customer: request.Customer}
	for i, l := range request.Lines {
		switch {
		case l.SKU == "":
			return Order{}, fmt.Errorf("lines[%d].sku is missing", i)
		case l.Quantity == nil:
			return Order{}, fmt.Errorf("lines[%d].quantity is missing: want 1 or more", i)
		case *l.Quantity < 1:
			return Order{}, fmt.Errorf("lines[%d].quantity is %d: want 1 or more", i, *l.Quantity)
		case l.UnitCents == nil:
			return Order{}, fmt.Errorf("lines[%d].unit_cents is missing: want 0 or more", i)
		case *l.UnitCents < 0:
			return Order{}, fmt.Errorf("lines[%d].unit_cents is %d: want 0 or more", i, *l.UnitCents)
		}
		order.Lines = append(order.Lines, Line{SKU: l.SKU, Quantity: *l.Quantity, UnitCents: *l.UnitCents})
	}
	return order, nil
}

// checkHost answers only requests for localhost, an IP address or the host of
// the address that is served. A web site whose name leads to this machine would
// else be the same site to a browser, and could read and place orders.
func checkHost(address string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		known := err == nil || strings.EqualFold(host, "localhost") || own != "" && strings.EqualFold(host, own)
		if !known {
			respondError(w, http.StatusMisdirectedRequest, fmt.Errorf("host %.80q: want localhost, an IP address or the host of -serve", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
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
