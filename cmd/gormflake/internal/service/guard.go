package service

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

const methods = "GET, HEAD"

var (
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"}
)

// endpoint returns the handler of a path. It accepts a request with an allowed method and
// no body. If guarded is true, the request must also have an accepted host and the token.
func (s *service) endpoint(write answer, guarded bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// By default, no cache stores the answer, and no page of another site can embed it.
		header := w.Header()
		header["Cache-Control"] = noStore
		header["X-Content-Type-Options"] = noSniff
		header["Cross-Origin-Resource-Policy"] = sameOrigin
		allowed := s.shareWith(w, r)
		if allowed && r.Method == http.MethodOptions {
			preflight(w)
			return
		}
		err := s.admit(w, r, guarded)
		if err == nil {
			err = write(w, r)
		}
		if err != nil {
			refuse(w, err)
		}
	}
}

// admit returns the problem for which the request is refused, or nil. It sets the headers
// that the refusal needs. If guarded is true, it also checks the host and the token.
func (s *service) admit(w http.ResponseWriter, r *http.Request, guarded bool) error {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // the body is not read, and must not be taken for the next request
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", methods)
		return failf(http.StatusMethodNotAllowed, "method %.20q is not allowed here: want %s", r.Method, methods)
	}
	if err := s.checkHost(r); guarded && err != nil {
		return err
	}
	if guarded && !s.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="gormflake"`)
		return failf(http.StatusUnauthorized, `a token is wanted: send the header "Authorization: Bearer …" with the right one`)
	}
	if r.ContentLength != 0 {
		return failf(http.StatusBadRequest, "the request has a body: want none")
	}
	return nil
}

// checkHost rejects a request for an unknown host name, unless a token is required or
// pages of all sites may read the answers. If http://evil.example resolves to 127.0.0.1, a
// browser treats the page of evil.example as a page of this service, and lets it read the
// answers. A request whose host is an IP address cannot come from such a page.
func (s *service) checkHost(r *http.Request) error {
	same := func(host string) bool { return strings.EqualFold(host, r.Host) }
	if s.token != nil || s.anyone || slices.ContainsFunc(s.Hosts, same) || isLocal(r.Host) {
		return nil
	}
	for _, origin := range s.Origins {
		if _, host, _ := strings.Cut(origin, "://"); same(host) {
			return nil
		}
	}
	return failf(http.StatusMisdirectedRequest, "host %.100q is not this one: want localhost, an IP address, one that --host or --allow-origin names, or a token", r.Host)
}

// isLocal reports whether the host of a request is an IP address, localhost or empty, so
// that it does not depend on a name that somebody else controls. The host is empty in
// HTTP/1.0.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.TrimSuffix(name, ".")
	_, err = netip.ParseAddr(name)
	return err == nil || name == "" || strings.HasSuffix("."+strings.ToLower(name), ".localhost")
}

// authorized reports whether the request has the token, or whether no token is required. It compares
// hashes, so that it takes the same time for all wrong tokens of any length.
func (s *service) authorized(r *http.Request) bool {
	if s.token == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	right := subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
	return right && strings.EqualFold(scheme, "Bearer")
}

// shareWith reports whether the site of the requesting page is one of the Origins. If so,
// it sets the headers with which the browser lets the page read the answer.
func (s *service) shareWith(w http.ResponseWriter, r *http.Request) bool {
	if len(s.Origins) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !s.anyone && !slices.Contains(s.Origins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "Retry-After")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// preflight answers the request by which a browser asks whether it may send a token.
func preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", "Authorization")
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// foreign reports whether a page of a site that may not read the answer has made the
// browser send the request, for example by an <img>. Browsers send Sec-Fetch-Site only to
// HTTPS and to their own machine, and a page can suppress Referer. Therefore a request
// from a browser without these headers counts as foreign too. A client that has sent the
// token is not a page of another site.
func (s *service) foreign(w http.ResponseWriter, r *http.Request) bool {
	if w.Header().Get("Access-Control-Allow-Origin") != "" { // shareWith has set it
		return false
	}
	header := r.Header
	if site := header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	if s.token != nil { // admit has checked it
		return false
	}
	for _, page := range []string{header.Get("Origin"), header.Get("Referer")} {
		if page != "" {
			u, err := url.Parse(page)
			return err != nil || !strings.EqualFold(u.Host, r.Host)
		}
	}
	return strings.HasPrefix(header.Get("User-Agent"), "Mozilla/") // as of every browser
}
