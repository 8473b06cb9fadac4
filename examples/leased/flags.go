package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

const usage = `Starts processes that write orders to one database under leased worker numbers,
kills one, pauses another, and shows every second who holds what.

  go run ./examples/leased                   in a temporary SQLite file
  go run ./examples/leased -dsn URL          in a database of yours

URL is one of
  sqlite://orders.db
  mysql://user:password@host:3306/database   MySQL and MariaDB
  postgres://user:password@host:5432/database
Tables are named leased_example_…; they stay there, with the orders written, and
so do the rows of namespace leased_example in the table snowflake_workers.

Flags:
`

const (
	minProcesses = 3 // one is killed, one is paused, and one has nothing happen to it
	maxProcesses = 20
	minWindow    = 500 * time.Millisecond
	minWindows   = 7 // the events take four and a half, see scenes
)

type config struct {
	dsn       string
	processes int
	duration  time.Duration
	window    time.Duration
}

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
	flags := flag.NewFlagSet("leased", flag.ContinueOnError)
	flags.StringVar(&cfg.dsn, "dsn", "", "`URL` of the database (default a temporary SQLite file)")
	flags.IntVar(&cfg.processes, "processes", 6, "processes that write, and workers that they share")
	flags.DurationVar(&cfg.duration, "for", 20*time.Second, "how long they write")
	flags.DurationVar(&cfg.window, "window", 2*time.Second, "how far ahead a worker is reserved; a minute by default elsewhere")
	return cfg, flags
}

func (c config) check() error {
	switch {
	case c.processes < minProcesses || c.processes > maxProcesses:
		return fmt.Errorf("-processes %d is out of range [%d, %d]", c.processes, minProcesses, maxProcesses)
	case c.window < minWindow:
		return fmt.Errorf("-window %v is too short: want at least %v", c.window, minWindow)
	case c.duration < minWindows*c.window:
		return fmt.Errorf("-for %v is too short: want at least %v, %d windows", c.duration, minWindows*c.window, minWindows)
	case strings.HasPrefix(c.dsn, "sqlite://:memory:"):
		return errors.New("-dsn sqlite://:memory: is a database of one process: want a file")
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
