package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `Writes orders with their lines under Snowflake keys, and compares ways to do so.

  go run ./examples/orders                   in a temporary SQLite file
  go run ./examples/orders -dsn URL          in a database of yours
  go run ./examples/orders -serve :8080      a JSON API and a page instead

URL is one of
  sqlite://orders.db
  mysql://user:password@host:3306/database   MySQL and MariaDB
  postgres://user:password@host:5432/database
Tables are named orders_example_… and stay there, with the orders written; of
the others only snowflake_workers is touched, which says what process has which
worker number, and nothing is dropped. Run it as often as you like.

Flags:
`

// maxRows bounds what is kept in memory: all lines of all orders.
const maxRows = 1_000_000

type config struct {
	dsn    string // empty: a temporary SQLite file
	serve  string // empty: write, compare, report
	size   size
	rounds int
}

// size is how much is written at once.
type size struct{ orders, lines int }

func parseFlags(args []string) (config, error) {
	cfg, flags := newFlags()
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q: everything is a flag, see -h", flags.Arg(0))
	}
	return *cfg, cfg.check()
}

func newFlags() (*config, *flag.FlagSet) {
	cfg := &config{}
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.StringVar(&cfg.dsn, "dsn", "", "`URL` of the database (default a temporary SQLite file)")
	flags.StringVar(&cfg.serve, "serve", "", "serve a JSON API and a page on this `address`, localhost if only a port")
	flags.IntVar(&cfg.size.orders, "orders", 1000, "orders to write")
	flags.IntVar(&cfg.size.lines, "lines", 10, "lines of each order")
	flags.IntVar(&cfg.rounds, "rounds", 5, "times each way is measured; 0 for not at all")
	return cfg, flags
}

func (c config) check() error {
	switch {
	case c.size.orders < 1 || c.size.lines < 1:
		return errors.New("-orders and -lines must be at least 1")
	case c.size.orders > maxRows/c.size.lines:
		return fmt.Errorf("-orders %d with -lines %d is too much: at most %s lines in all",
			c.size.orders, c.size.lines, grouped(maxRows))
	case c.rounds < 0 || c.rounds > 1000:
		return fmt.Errorf("-rounds %d is out of range [0, 1000]", c.rounds)
	}
	return nil
}

func printUsage(w io.Writer) error {
	_, flags := newFlags()
	if _, err := io.WriteString(w, usage); err != nil {
		return err
	}
	flags.SetOutput(w)
	flags.PrintDefaults()
	return nil
}
