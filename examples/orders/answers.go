package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
)

// problem is an error that the client is told about, in a sentence.
type problem struct {
	status   int
	sentence string
}

func (p *problem) Error() string { return p.sentence }

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// handle answers with the error that h returns, if any. What is not a problem
// of the client's is logged and not shown.
func handle(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		var p *problem
		if !errors.As(err, &p) {
			slog.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			p = &problem{http.StatusInternalServerError, "the order database did not answer as it should"}
		}
		writeProblem(w, p)
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, &problem{http.StatusNotFound, "there is nothing at " + r.URL.Path})
}

func methodNotAllowed(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		writeProblem(w, &problem{
			http.StatusMethodNotAllowed,
			fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.ReplaceAll(allowed, ", ", " or "), r.Method),
		})
	}
}

// sameOrigin keeps pages of other sites from placing orders through the
// browser of somebody who has this server running.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, &problem{http.StatusForbidden, "pages of other sites may not place orders"})
	}))
	return protection.Handler(next)
}

func writeProblem(w http.ResponseWriter, p *problem) {
	body, _ := json.Marshal(map[string]string{"error": p.sentence}) // strings always marshal
	writeBody(w, p.status, body)
}

// writeJSON marshals before it answers, so that an error still gets a status.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	writeBody(w, status, body)
	return nil
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error means that the client has gone
}
