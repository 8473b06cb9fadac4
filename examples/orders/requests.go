package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	defaultLimit = 20
	maxLimit     = 100

	maxLines    = 100
	maxCustomer = 100 // characters, as the columns have
	maxSKU      = 40
	maxQuantity = 1_000_000
	maxCents    = 1_000_000_000
)

// orderRequest is what a client may say about an order: all but the keys.
type orderRequest struct {
	Customer string        `json:"customer"`
	Lines    []lineRequest `json:"lines"`
}

type lineRequest struct {
	SKU       string `json:"sku"`
	Quantity  int    `json:"quantity"`
	UnitCents int64  `json:"unit_cents"`
}

// readOrder reads one order and nothing else. Its errors are for the client.
func readOrder(body io.Reader) (Order, error) {
	var request orderRequest
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return Order{}, badRequest("%s", explain(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Order{}, badRequest("the body must hold one order and nothing after it")
	}
	if err := request.check(); err != nil {
		return Order{}, err
	}
	return request.order(), nil
}

// explain turns an error of encoding/json into a sentence about the body.
func explain(err error) string {
	var (
		wrongType *json.UnmarshalTypeError
		tooLarge  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Sprintf("the body is larger than %s bytes", grouped(maxBodyBytes))
	case errors.Is(err, io.EOF):
		return "the body is empty; it must hold an order as JSON"
	case errors.As(err, &wrongType):
		return fmt.Sprintf("%s must be %s, not a JSON %s",
			cmp.Or(wrongType.Field, "the body"), wanted(wrongType.Type), wrongType.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return strings.TrimPrefix(err.Error(), "json: ") + "; an order has customer and lines, a line has sku, quantity and unit_cents"
	}
	return "the body is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

func (r orderRequest) check() error {
	if err := checkText("customer", r.Customer, maxCustomer); err != nil {
		return err
	}
	if len(r.Lines) == 0 || len(r.Lines) > maxLines {
		return badRequest("an order must have 1 to %d lines, this one has %d", maxLines, len(r.Lines))
	}
	for i, line := range r.Lines {
		if err := line.check(fmt.Sprintf("lines[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (l lineRequest) check(name string) error {
	if err := checkText(name+".sku", l.SKU, maxSKU); err != nil {
		return err
	}
	if l.Quantity < 1 || l.Quantity > maxQuantity {
		return badRequest("%s.quantity must be 1 to %s, not %d", name, grouped(maxQuantity), l.Quantity)
	}
	if l.UnitCents < 0 || l.UnitCents > maxCents {
		return badRequest("%s.unit_cents must be 0 to %s, not %d", name, grouped(maxCents), l.UnitCents)
	}
	return nil
}

// checkText refuses the zero character too: PostgreSQL cannot store it.
func checkText(name, text string, limit int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return badRequest("%s is missing", name)
	case utf8.RuneCountInString(text) > limit:
		return badRequest("%s must not be longer than %d characters", name, limit)
	case strings.ContainsRune(text, 0):
		return badRequest("%s must not contain a zero character", name)
	}
	return nil
}

func (r orderRequest) order() Order {
	order := Order{Customer: r.Customer}
	for _, l := range r.Lines {
		order.Lines = append(order.Lines, Line{SKU: l.SKU, Quantity: l.Quantity, UnitCents: l.UnitCents})
	}
	return order
}

// readListing reads since, by default the beginning, and limit.
func readListing(query url.Values) (since time.Time, limit int, err error) {
	if query.Has("since") {
		text := query.Get("since")
		since, err = time.Parse(time.RFC3339, text)
		if err != nil {
			return since, 0, badRequest("since must be a time such as 2030-01-31T18:30:00Z, not %q", text)
		}
	}
	limit = defaultLimit
	if query.Has("limit") {
		text := query.Get("limit")
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxLimit {
			return since, 0, badRequest("limit must be 1 to %d, not %q", maxLimit, text)
		}
	}
	return since, limit, nil
}
