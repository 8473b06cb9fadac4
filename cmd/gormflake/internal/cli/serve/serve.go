// Package serve has the command serve, which runs the HTTP service of package service.
package serve

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
)

const serveHelp = `Serve IDs, what is in them, and the inspector's web page over HTTP:

  GET /v1/ids?count=n       {"ids":["…", …]}, by default one
  GET /v1/ids/{id}?as=form  an ID taken apart; form is base32, base58 or base62, by default decimal
  GET /v1/layout            the layout of the IDs
  GET /v1/workers           who holds which worker (with --dsn)
  GET /readyz               200, or 503 while no IDs can be issued
  GET /livez                200
  GET /metrics              for Prometheus
  GET /openapi.json         all of this, for programs
  GET /                     the inspector

With --dsn a worker is leased from the database, and released on SIGTERM or
SIGINT once the requests under way are answered. With --worker alone the number
must be nobody else's. With neither, IDs are only taken apart.

If the database is away at the start, or all workers are leased, the service
starts all the same, and issues IDs once it has a worker. While the database is
away later, IDs are issued until the window ends (see --window). Until then and
from then on they are refused with 503. Use /readyz to take the
process out of a load balancer, and /livez to restart it: a restart does not
bring a database back.

Only this machine is served unless --addr says otherwise. A client that reaches the
address may use up the sequence; nothing else can be changed. With a token, in
the file of --token-file or in $` + flags.TokenVariable + `, that one is wanted for /v1 and
/metrics.

Without a token, requests for hosts other than localhost, IP addresses and the hosts of
--host and --allow-origin are refused: a web page could have made its own
name lead here. Who else reaches the service by a name gives it with --host.`

// New returns the command serve.
func New() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve IDs and the inspector over HTTP",
		Long:  serveHelp,
		Example: `  gormflake serve --dsn sqlite://app.db
  gormflake serve --worker 3 --addr 127.0.0.1:9000
  gormflake serve --dsn postgres://app@db/app --addr :8080 --token-file /run/secrets/token`,
		Args: flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	return cmd
}

// run checks the flags, listens on the addresses, and serves until the context ends.
func (f *serveFlags) run(cmd *cobra.Command) error {
	log, err := f.log(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	cfg, err := f.config(log)
	secure, secureErr := f.tls.config(log)
	if err := cmp.Or(err, secureErr); err != nil { // the first error
		return err
	}
	listeners, err := f.listen(cmd.Context()) // before a worker is leased, so that a port in use does not cost a worker
	if err != nil {
		return err
	}
	for _, l := range listeners {
		defer func() { _ = l.Close() }() // the server has closed it already, or it was never used
	}
	cfg.Draining = cmd.Context().Done() // after the signal to end, /readyz answers 503
	return f.serveWhenOpen(cmd, listeners, secure, cfg)
}
