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

// methods are the methods that every path allows, as in the header Allow.
const methods = "GET, HEAD"

// Values of headers. Assigning a shared slice to a header allocates no memory, unlike Set.
var (
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"}
)

// endpoint returns the handler of a path. It calls write for a request that has an allowed
// method and no body and, if guarded is true, an accepted host and the token. It answers
// an OPTIONS request of an allowed origin with 204, and other requests with a problem.
func (s *service) endpoint(write answer, guarded bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// By default, no cache stores the answer, and no page of another site can embed it.
		header := w.Header()
		header["Cache-Control"] = noStore
		header["X-Content-Type-Options"] = noSniff
		header["Cross-Origin-Resource-Policy"] = sameOrigin
		mayRead := s.shareWith(w, r) // whether the page of the request may read the answer
		if mayRead && r.Method == http.MethodOptions {
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

// admit returns the problem for which the request is refused, or nil if it may be answered.
// It sets the headers that the refusal needs. It checks the host and the token only if
// guarded is true.
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

// checkHost rejects a request whose header Host is not a known name of this service, because
// it may come from a malicious page (DNS rebinding). If evil.example resolves to 127.0.0.1,
// a browser treats the page of http://evil.example as a page of this service, and lets it
// read the answers. Such a page does not know the token, and the Host of its requests is
// never an IP address. If pages of all sites may read the answers, there is nothing to
// protect.
func (s *service) checkHost(r *http.Request) error {
	isHost := func(name string) bool { return strings.EqualFold(name, r.Host) }
	if s.token != nil || s.anyone || slices.ContainsFunc(s.Hosts, isHost) || isLocal(r.Host) {
		return nil
	}
	for _, origin := range s.Origins {
		if _, name, _ := strings.Cut(origin, "://"); isHost(name) {
			return nil
		}
	}
	return failf(http.StatusMisdirectedRequest, "host %.100q is not this one: want localhost, an IP address, one that --host or --allow-origin names, or a token", r.Host)
}

// isLocal reports whether the host of a request, such as 127.0.0.1:8080, is an IP address,
// localhost or empty. Nobody can make such a host resolve to another address, as the owner of
// evil.example can. The host is empty in HTTP/1.0.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil { // no port
		name = strings.Trim(host, "[]") // as in [::1]
	}
	name = strings.TrimSuffix(name, ".") // "localhost." is the same name as "localhost"
	_, err = netip.ParseAddr(name)
	// Names below localhost, such as app.localhost, are of this machine too (RFC 6761).
	return err == nil || name == "" || strings.HasSuffix("."+strings.ToLower(name), ".localhost")
}

// authorized reports whether the request has the token, or whether no token is required. It
// compares hashes, which all have the same length, so that the time that it takes does not
// disclose anything about the token.
func (s *service) authorized(r *http.Request) bool {
	if s.token == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	isToken := subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
	return isToken && strings.EqualFold(scheme, "Bearer")
}

// shareWith reports whether the request comes from a page of one of the Origins, or of any
// site if Origins has *. If so, it sets the headers of CORS, with which the browser lets the
// page read the answer.
func (s *service) shareWith(w http.ResponseWriter, r *http.Request) bool {
	if len(s.Origins) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin") // also for other origins, because the answer depends on the header
	origin := r.Header.Get("Origin")
	if origin == "" || !s.anyone && !slices.Contains(s.Origins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "Retry-After")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// preflight answers the OPTIONS request by which a browser asks whether a page of another site
// may send a token. The browser may remember the answer for ten minutes.
func preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", "Authorization")
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// foreign reports whether another site may have made a browser send the request, for example
// by an <img> in its page, although shareWith does not let that site read the answer.
//
// A browser states the site in the header Sec-Fetch-Site, but only over HTTPS and to its own
// machine. Without this header, a request with the token is not foreign, because pages of
// other sites do not know the token. For other requests, the site in Origin or Referer must be
// this service. A page can suppress Origin and Referer, so a request from a browser without
// them is foreign too.
func (s *service) foreign(w http.ResponseWriter, r *http.Request) bool {
	if w.Header().Get("Access-Control-Allow-Origin") != "" { // shareWith has found the site in Origins
		return false
	}
	header := r.Header
	if site := header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none" // none means that the user has entered the URL
	}
	if s.token != nil { // admit has checked that the request has it
		return false
	}
	for _, page := range []string{header.Get("Origin"), header.Get("Referer")} {
		if page != "" {
			u, err := url.Parse(page)
			return err != nil || !strings.EqualFold(u.Host, r.Host)
		}
	}
	return strings.HasPrefix(header.Get("User-Agent"), "Mozilla/") // as that of every browser does
}
