package dsn

import (
	"fmt"
	"net/url"
	"strings"
)

// checkAuthority refuses a URL, given without its scheme, whose user name and
// password cannot be told apart from the rest with certainty. A password with a
// bare slash would otherwise be taken for a port and a database name, and end
// up in the text of a driver's error.
func checkAuthority(rest, form string) error {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	userinfo, host := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		userinfo, host = authority[:i], authority[i+1:]
	}
	_, badEscape := url.PathUnescape(userinfo)
	if strings.ContainsAny(tail, "@#") || strings.ContainsAny(userinfo, "@ ") || badEscape != nil {
		return fmt.Errorf("dsn: unescaped character in user name, password or parameters: "+
			"percent-encode @ as %%40, : as %%3A, / as %%2F, ? as %%3F, # as %%23, %% as %%25: want %s", form)
	}
	if !validPorts(host) {
		return fmt.Errorf("dsn: port is not a number, or @ and the host are missing: want %s", form)
	}
	return nil
}

// validPorts reports whether each host of a comma-separated list has either no
// port or one of digits.
func validPorts(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if i := strings.LastIndexByte(host, ']'); i >= 0 {
			host = host[i+1:]
		}
		_, port, _ := strings.Cut(host, ":")
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	return true
}
