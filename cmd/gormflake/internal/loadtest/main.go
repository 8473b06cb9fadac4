// Command loadtest measures a running "gormflake serve" from another process:
//
//	gormflake serve --worker 1 --addr 127.0.0.1:8080
//	go run ./internal/loadtest -url http://127.0.0.1:8080
//
// Beside each figure stands the same one against a server, in a third process,
// that always answers the same text: no service can be faster on the machine.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/load"
)

type plan struct {
	url, token                      string
	duration                        time.Duration
	connections, block, rate, round int
	trivial                         bool
}

func main() {
	var p plan
	flag.StringVar(&p.url, "url", "http://127.0.0.1:8080", "the service")
	flag.StringVar(&p.token, "token", "", "its bearer token, if it wants one")
	flag.DurationVar(&p.duration, "duration", 5*time.Second, "of each measurement")
	flag.IntVar(&p.connections, "connections", 16, "of the measurements of throughput")
	flag.IntVar(&p.block, "count", 10_000, "IDs of a block")
	flag.IntVar(&p.rate, "rate", 1000, "requests per second of the measurement of latency")
	flag.IntVar(&p.round, "rounds", 3, "how often everything is measured")
	flag.BoolVar(&p.trivial, "trivial", false, "be the server that always answers the same")
	flag.Parse()
	run := p.measure
	if p.trivial {
		run = serveTrivial
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(1)
	}
}

func serveTrivial(context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, load.Trivial())
}

// startTrivial starts this program once more.
func startTrivial(ctx context.Context) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	program, err := os.Executable()
	if err != nil {
		cancel()
		return "", nil, err
	}
	command := exec.CommandContext(ctx, program, "-trivial")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() { cancel(); _ = command.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(line), stop, nil
}

func (p plan) measure(ctx context.Context) error {
	trivial, stop, err := startTrivial(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%s, %d CPUs, %s; %d connections, %v each\n", runtime.GOOS, runtime.NumCPU(), runtime.Version(), p.connections, p.duration)
	fmt.Printf("%-10s  %14s  %16s  %27s\n", "", "one ID, req/s", fmt.Sprintf("blocks of %d", p.block), fmt.Sprintf("at %d/s: p50, p99, max", p.rate))
	for range p.round {
		if err := p.row(ctx, "service", p.url, p.token); err != nil {
			return err
		}
		if err := p.row(ctx, "ceiling", trivial, ""); err != nil {
			return err
		}
	}
	return nil
}

func (p plan) row(ctx context.Context, name, url, token string) error {
	target := load.Target{URL: url, Token: token, Count: 1}
	single, err := load.Saturate(ctx, target, p.connections, p.duration)
	if err != nil {
		return err
	}
	latencies, err := load.Arrive(ctx, target, p.connections, p.rate, p.duration)
	if err != nil {
		return err
	}
	target.Count = p.block
	blocks, err := load.Saturate(ctx, target, p.connections, p.duration)
	if err != nil {
		return err
	}
	micro := func(q float64) time.Duration { return latencies.Quantile(q).Round(time.Microsecond) }
	fmt.Printf("%-10s  %14.0f  %10.0f IDs/s  %v, %v, %v\n", name, single, blocks*float64(p.block), micro(0.5), micro(0.99), micro(1))
	return nil
}
