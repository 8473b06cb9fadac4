package service

import "net/http"

// Starting returns the handler of a service that has no worker yet. It answers /livez, so
// that the process is not restarted, and refuses all other requests.
func Starting() http.Handler {
	const text = "no worker is leased yet: the database does not answer, or all workers are leased; the log of the server says which"
	mux := http.NewServeMux()
	handle := func(path string, write answer) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Cache-Control"] = noStore
			if err := write(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	notReady := func(http.ResponseWriter, *http.Request) error {
		return &problem{status: http.StatusServiceUnavailable, temporary: true, body: healthReport{Status: "starting", Detail: text}}
	}
	handle("/livez", func(w http.ResponseWriter, _ *http.Request) error { return reply(w, healthReport{Status: "ok"}) })
	handle("/readyz", notReady)
	handle("/healthz", notReady)
	handle("/", func(http.ResponseWriter, *http.Request) error { return unavailable(text) })
	return mux
}
