package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An answer writes a response of status 200, or returns an error and has
// written nothing.
type answer func(http.ResponseWriter, *http.Request) error

// A problem is a response of another status.
type problem struct {
	status int
	text   string
	body   any  // in place of the details of RFC 9457
	passes bool // the same request may succeed in a moment
}

// Details are the members of a problem that RFC 9457 names. Without a type, the
// title is the status's text.
type details struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return p.text }

func failf(status int, format string, args ...any) error {
	return &problem{status: status, text: fmt.Sprintf(format, args...)}
}

// unavailable is a problem that passes without a change to the request.
func unavailable(format string, args ...any) error {
	return &problem{status: http.StatusServiceUnavailable, text: fmt.Sprintf(format, args...), passes: true}
}

// errGone: the client does not listen any more. Metrics and the log have it under
// the status that nginx has for it.
var errGone = errors.New("service: the client has gone")

const statusGone = 499

var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
)

// refuse writes the problem.
func refuse(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) { // errGone
		w.WriteHeader(statusGone)
		return
	}
	if p.passes {
		w.Header().Set("Retry-After", "1")
	}
	kind, body := jsonType, p.body
	if body == nil {
		kind, body = problemType, details{http.StatusText(p.status), p.status, p.text}
	}
	text, _ := json.Marshal(body) // of strings and numbers, which can always be marshalled
	writeText(w, p.status, kind, append(text, '\n'))
}

// Refuse writes a problem, as the service does, for the handler of [Config.Page].
func Refuse(w http.ResponseWriter, status int, detail string) { refuse(w, failf(status, "%s", detail)) }

// reply writes value, which must be of strings and numbers.
func reply(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return failf(http.StatusInternalServerError, "%v", err)
	}
	writeText(w, http.StatusOK, jsonType, append(text, '\n'))
	return nil
}

// writeText gives the length, without which a long text would go out in chunks.
// A client that has gone away is not an error of ours.
func writeText(w http.ResponseWriter, status int, kind []string, text []byte) {
	header := w.Header()
	header["Content-Type"] = kind
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// stamp is a time as JavaScript reads it. Ticks are whole milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// parameter is the value of the one parameter that a path has. All others, and
// a second one, are errors: a misspelt parameter must not pass for its default.
// The empty name stands for a path without a parameter.
func parameter(query, name string) (value string, given bool, err error) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawKey, rawValue, _ := strings.Cut(pair, "=")
		key, keyErr := url.QueryUnescape(rawKey)
		text, valueErr := url.QueryUnescape(rawValue)
		switch {
		case keyErr != nil || valueErr != nil:
			return "", false, failf(http.StatusBadRequest, "the query has a %% that is not followed by two hexadecimal digits, in %.40q", pair)
		case name == "":
			return "", false, failf(http.StatusBadRequest, "unknown parameter %.40q: want none", key)
		case key != name:
			return "", false, failf(http.StatusBadRequest, "unknown parameter %.40q: want %s", key, name)
		case given:
			return "", false, failf(http.StatusBadRequest, "%s is given twice: want it once", name)
		}
		value, given = text, true
	}
	return value, given, nil
}
