package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// An answer writes a response of status 200, or returns an error and has
// written nothing.
type answer func(http.ResponseWriter, *http.Request) error

// A problem is a response of another status.
type problem struct {
	status int
	text   string
	body   any  // in place of {"error":text}
	passes bool // the same request may succeed in a moment
}

func (p *problem) Error() string { return p.text }

func failf(status int, format string, args ...any) error {
	return &problem{status: status, text: fmt.Sprintf(format, args...)}
}

// unavailable is a problem that passes without a change to the request.
func unavailable(format string, args ...any) error {
	return &problem{status: http.StatusServiceUnavailable, text: fmt.Sprintf(format, args...), passes: true}
}

// errGone: the client does not listen any more.
var errGone = errors.New("service: the client has gone")

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// refuse writes the problem.
func (s *service) refuse(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) {
		return // errGone
	}
	s.refusals.WithLabelValues(strconv.Itoa(p.status)).Inc()
	if p.passes {
		w.Header().Set("Retry-After", "1")
	}
	if p.body == nil {
		p.body = map[string]string{"error": p.text}
	}
	text, _ := json.Marshal(p.body) // of strings, which can always be marshalled
	writeJSON(w, p.status, append(text, '\n'))
}

// reply writes value, which must be of strings and numbers.
func reply(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return failf(http.StatusInternalServerError, "%v", err)
	}
	writeJSON(w, http.StatusOK, append(text, '\n'))
	return nil
}

// writeJSON gives the length, without which a long text would go out in chunks.
// A client that has gone away is not an error of ours.
func writeJSON(w http.ResponseWriter, status int, text []byte) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// stamp is a time as JavaScript reads it. Ticks are whole milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
