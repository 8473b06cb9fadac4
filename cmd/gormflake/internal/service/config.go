package service

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// Bounds of a [Config].
const (
	HighestMaxCount = 1_000_000
	LowestMaxMemory = 32 << 20
)

// shares is the number of equal parts into which [Config.MaxMemory] is divided. The first part
// is for answers, and the second part is for connections. The other two parts are for
// everything else, and for garbage that has not been collected yet.
const shares = 4

// A Config configures a service.
type Config struct {
	// Layout is the layout of the IDs. It must be equal to the generator's layout.
	Layout snowflake.Layout

	// Generator issues IDs. If it is nil, the service only reads IDs. The caller closes
	// it after the last request has been answered.
	Generator *snowflake.Generator

	// Store is the store of leases whose workers /v1/workers lists. If it is nil, the
	// service does not list workers.
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

// MaxConns returns the number of connections for which their share of MaxMemory suffices.
func (c *Config) MaxConns() int {
	return int(c.MaxMemory / shares / connSize)
}
