package service

import (
	"net/http"
	"net/url"
	"strings"
)

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
