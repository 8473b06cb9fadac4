package load

import (
	"net/http"
	"strconv"
	"strings"
)

// Trivial answers as a service of IDs does, always the same text: what is
// measured against it is the most that net/http and the measuring reach
// together.
func Trivial() http.Handler {
	texts := map[int][]byte{}
	text := func(count int) []byte {
		list := strings.Repeat(`"2124190922358821978",`, count)
		return []byte(`{"ids":[` + list[:len(list)-1] + "]}\n")
	}
	for _, count := range TrivialCounts {
		texts[count] = text(count)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/ids", func(w http.ResponseWriter, r *http.Request) {
		count, _ := strconv.Atoi(r.FormValue("count"))
		body, found := texts[count]
		if !found {
			body = text(max(1, count))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
	return mux
}

// TrivialCounts are those for which [Trivial] has its answer ready.
var TrivialCounts = []int{1, 1000, 10_000}
