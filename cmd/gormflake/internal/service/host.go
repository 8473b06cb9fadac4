package service

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses a name that is not ours. A browser takes a page of
// http://evil.example, once that name leads to 127.0.0.1, for one of this
// service, and names no other site; an address it cannot mistake.
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

// isLocal reports whether the host of a request needs no look-up of a name that
// others may have made. HTTP/1.0 has none.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.TrimSuffix(name, ".")
	_, err = netip.ParseAddr(name)
	return err == nil || name == "" || strings.HasSuffix("."+strings.ToLower(name), ".localhost")
}
