package service

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// Bounds of a [Config].
const (
	HighestMaxCount = 1_000_000
	LowestMaxMemory = 32 << 20
)

// shares is the number of parts of the memory. One part is for answers and one for
// connections; two are for everything else, and for garbage that has not been collected
// yet.
const shares = 4

const shortestToken = 16

// A Config configures a service.
type Config struct {
	// Layout is the layout of the IDs. It must be equal to the generator's layout.
	Layout snowflake.Layout

	// Generator issues IDs. If it is nil, the service only reads IDs. The caller closes
	// it after the last request has been answered.
	Generator *snowflake.Generator

	// Store is the store whose workers are listed. If it is nil, the service does not
	// list workers.
	Store lease.Store

	// Page answers all paths outside of the interface, without a token and with its own
	// headers. If it is nil, these paths are not found.
	Page http.Handler

	// Token is the bearer token that clients must send to the paths under /v1 and to
	// /metrics. If it is empty, these paths are open.
	Token string

	// Origins are the web sites whose pages may read the answers, such as
	// https://app.example.com, or * for all web sites. If it is empty, only pages of this
	// service may read them.
	Origins []string

	// Hosts are the names by which clients reach the service, such as ids.example.com,
	// with the port if it is not the scheme's default. Without a token, the service
	// refuses a request for another host, unless the host is an IP address, localhost or
	// one of the Origins. Such a request can come from a malicious web page whose name
	// was made to resolve to this server.
	Hosts []string

	// Draining is closed when the process is about to end. Then /readyz answers 503, and
	// each answer closes its connection, so that clients go to another server. If it is
	// nil, the service never drains.
	Draining <-chan struct{}

	// AccessLog enables a log line for every request.
	AccessLog bool

	// MaxMemory is about the number of bytes that the service may use. A quarter is for
	// answers that are being sent; further answers have to wait. Another quarter is for
	// connections, see [Config.MaxConns].
	MaxMemory int64

	// MaxCount is the largest number of IDs in a request, at most HighestMaxCount.
	MaxCount int

	// Timeout limits how long a request may wait for IDs or for the store.
	Timeout time.Duration

	// Log receives events on which an operator should act.
	Log *slog.Logger
}

// Validate returns all mistakes in the configuration in one error. [New] calls it.
func (c *Config) Validate() error {
	errs := []error{c.Layout.Validate(), checkToken(c.Token)}
	if c.Generator != nil && !c.Layout.Equal(c.Generator.Layout()) {
		errs = append(errs, fmt.Errorf("service: layout %v is not the generator's, %v", c.Layout, c.Generator.Layout()))
	}
	if c.MaxCount < 1 || c.MaxCount > HighestMaxCount {
		errs = append(errs, fmt.Errorf("service: limit of %d IDs for a request: want 1 to %d", c.MaxCount, HighestMaxCount))
	}
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("service: timeout %v: want more than zero", c.Timeout))
	}
	if c.MaxMemory < LowestMaxMemory {
		errs = append(errs, fmt.Errorf("service: memory of %d bytes: want at least %d", c.MaxMemory, LowestMaxMemory))
	} else if want := 2 * shares * blockSize(c.MaxCount); want > c.MaxMemory {
		errs = append(errs, fmt.Errorf("service: memory of %d bytes: want at least %d for requests of %d IDs", c.MaxMemory, want, c.MaxCount))
	}
	for _, origin := range c.Origins {
		errs = append(errs, checkOrigin(origin))
	}
	return errors.Join(errs...)
}

// MaxConns returns the number of connections for which the memory suffices.
func (c *Config) MaxConns() int {
	return int(c.MaxMemory / shares / connSize)
}

// checkToken rejects a token that can be guessed or that a client cannot send.
func checkToken(token string) error {
	if token != "" && len(token) < shortestToken {
		return fmt.Errorf("service: a token of %d characters: want at least %d, at random", len(token), shortestToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("service: the token has a blank or a character outside ASCII: want letters, digits and -._~+/=")
	}
	return nil
}

// checkOrigin rejects an origin that no browser would send, because origins are compared
// as text.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	plain := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		origin == u.Scheme+"://"+strings.ToLower(u.Host)
	if origin == "*" || plain {
		return nil
	}
	return fmt.Errorf("service: origin %q: want one such as https://app.example.com, in lower case and without a path, or *", origin)
}
