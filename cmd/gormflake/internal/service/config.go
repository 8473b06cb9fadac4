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

// shares are the parts of the memory: for answers, for connections, and two for
// all else, and for garbage that is not collected yet.
const shares = 4

const shortestToken = 16

// A Config is what a service offers, and to whom.
type Config struct {
	// Layout is the layout of the IDs that are taken apart, and of the generator's.
	Layout snowflake.Layout

	// Generator issues. Nil: IDs are only taken apart. Who made it closes it,
	// after the last request has been answered.
	Generator *snowflake.Generator

	// Store is the one whose workers are listed. Nil: none are.
	Store lease.Store

	// Page answers what is not the interface's, to everybody and with headers
	// of its own. Nil: it is not found.
	Page http.Handler

	// Token is what "Authorization: Bearer" must bring to the paths under /v1
	// and to /metrics. Empty: they are open.
	Token string

	// Origins are the web sites whose pages may read the answers, such as
	// https://app.example.com, or * for all. None: only pages of this service.
	Origins []string

	// Hosts are the names under which clients reach the service, such as
	// ids.example.com, with a port if it is not the scheme's. Without a
	// token, a request for another host than these, an IP address, localhost or
	// one of the Origins is refused: it comes from a web page whose name was
	// made to lead here.
	Hosts []string

	// Draining is closed when the process is about to end: then /readyz answers 503,
	// and each answer ends its connection, so that clients go elsewhere. Nil: never.
	Draining <-chan struct{}

	// AccessLog logs every request.
	AccessLog bool

	// MaxMemory is about how many bytes the service may use, whatever clients
	// do: a quarter for answers under way, others of which wait, and a quarter
	// for connections (see [Config.MaxConns]).
	MaxMemory int64

	// MaxCount is the most IDs of one request, up to HighestMaxCount.
	MaxCount int

	// Timeout is for how long a request may wait for IDs or for the store.
	Timeout time.Duration

	// Log gets what an operator should act on.
	Log *slog.Logger
}

// Validate returns everything that is wrong with the configuration in one error.
// [New] calls it.
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

// MaxConns is how many connections the memory is enough for.
func (c *Config) MaxConns() int {
	return int(c.MaxMemory / shares / connSize)
}

// checkToken refuses what can be guessed, and what no client could send.
func checkToken(token string) error {
	if token != "" && len(token) < shortestToken {
		return fmt.Errorf("service: a token of %d characters: want at least %d, at random", len(token), shortestToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("service: the token has a blank or a character outside ASCII: want letters, digits and -._~+/=")
	}
	return nil
}

// checkOrigin refuses what no browser would send: origins are compared as text.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	plain := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		origin == u.Scheme+"://"+strings.ToLower(u.Host)
	if origin == "*" || plain {
		return nil
	}
	return fmt.Errorf("service: origin %q: want one such as https://app.example.com, in lower case and without a path, or *", origin)
}
