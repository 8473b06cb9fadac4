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

// An answer is a handler of a path. It writes a response with status 200, or writes nothing
// and returns an error, which is a problem or errGone. Its caller passes the error to refuse.
type answer func(http.ResponseWriter, *http.Request) error

// A problem is a response with a status other than 200. It is an error, so that an answer
// can return it.
type problem struct {
	status    int
	text      string // what is wrong, in one sentence; the Detail of details
	body      any    // the body of the response; nil means details
	temporary bool   // whether the same request may succeed in a moment, so that the client is told to retry
}

// details is the usual body of a problem, as RFC 9457 (Problem Details) defines it. The
// Title is the text of the status, such as "Bad Request", because the service defines no
// types of problems.
type details struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return p.text }

// failf returns a problem for a request that cannot succeed if it is repeated unchanged.
func failf(status int, format string, args ...any) error {
	return &problem{status: status, text: fmt.Sprintf(format, args...)}
}

// unavailable returns a problem for a request that may succeed later without a change.
func unavailable(format string, args ...any) error {
	return &problem{status: http.StatusServiceUnavailable, text: fmt.Sprintf(format, args...), temporary: true}
}

// errGone means that the client has closed the connection.
var errGone = errors.New("service: the client has gone")

// statusGone is the status for errGone in the metrics and the log. nginx uses it too.
const statusGone = 499

var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
)

// refuse writes the response for an error that an answer has returned. For errGone it writes
// only a status, for the metrics and the log.
func refuse(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) { // err is errGone
		w.WriteHeader(statusGone)
		return
	}
	if p.temporary {
		w.Header().Set("Retry-After", "1")
	}
	contentType, body := jsonType, p.body
	if body == nil {
		contentType, body = problemType, details{http.StatusText(p.status), p.status, p.text}
	}
	text, _ := json.Marshal(body) // Marshal does not fail for strings and numbers
	writeText(w, p.status, contentType, append(text, '\n'))
}

// Refuse writes a problem in the form of the service, for the handler of [Config.Page].
func Refuse(w http.ResponseWriter, status int, detail string) { refuse(w, failf(status, "%s", detail)) }

// reply writes value as JSON. value must consist of strings and numbers.
func reply(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return failf(http.StatusInternalServerError, "%v", err)
	}
	writeText(w, http.StatusOK, jsonType, append(text, '\n'))
	return nil
}

// writeText writes a response with its length, because net/http would otherwise send a
// long text in chunks. It ignores errors, because they mean that the client has gone.
func writeText(w http.ResponseWriter, status int, contentType []string, text []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// stamp formats a time as JavaScript does, for example 2026-11-21T17:15:01.372Z.
// Milliseconds are exact, because a tick of a layout is a whole number of milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// parameter returns the value of the only parameter that a path accepts, for example
// "count". name is empty for a path without a parameter. given says whether the query has the
// parameter. Any other parameter is an error, because a misspelled parameter would
// otherwise be ignored. A repeated parameter is an error too.
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
