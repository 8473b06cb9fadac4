// Command jobs measures how many workers short processes need:
//
//	go -C bench run ./jobs -dsn postgres://…
//
// It starts 500 processes in 10 seconds, as a scheduler or a serverless platform would.
// Each process leases a worker, issues an ID, works for 3 seconds and closes its
// generator, but each tenth process is killed halfway. The command then waits until all
// workers are free. See docs/operating.md.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// table is the command's own table, which it drops before and after.
const table = "gormflake_bench_jobs"

// options are the command's flags.
type options struct {
	dsn    string
	jobs   int
	within time.Duration
	work   time.Duration
	window time.Duration
	job    bool // this is one of the processes
}

func main() {
	var o options
	flag.StringVar(&o.dsn, "dsn", "", "the `database`, mysql://… or postgres://…")
	flag.IntVar(&o.jobs, "jobs", 500, "how many processes are started")
	flag.DurationVar(&o.within, "within", 10*time.Second, "the time in which they start")
	flag.DurationVar(&o.work, "work", 3*time.Second, "how long each works")
	flag.DurationVar(&o.window, "window", time.Minute, "of each lease")
	flag.BoolVar(&o.job, "job", false, "be one of the processes; for the command itself")
	flag.Parse()
	run := measure
	if o.job {
		run = work
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

// open returns a database that keeps no idle connection open, because hundreds of processes
// use the server at the same time.
func (o options) open() (*gorm.DB, error) {
	dialector, err := dsn.Open(o.dsn)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err == nil {
		pool.SetMaxIdleConns(0)
	}
	return db, err
}

// work runs a job, which prints a line once it has an ID.
func work(o options) error {
	db, err := o.open()
	if err != nil {
		return err
	}
	gen, err := gormflake.Open(context.Background(), db, gormflake.WithStore(sqllease.WithTable(table)),
		gormflake.WithLease(lease.WithWindow(o.window), lease.WithLogger(slog.New(slog.DiscardHandler))))
	if err != nil {
		return err
	}
	id, err := gen.Next(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(id)
	time.Sleep(o.work)
	return gen.Close(context.Background())
}

// tally contains the results of the jobs.
type tally struct {
	mu     sync.Mutex
	starts []float64 // milliseconds from the start to the ID
	ids    map[string]bool
	failed int
}

// start runs a job, and kills it halfway if kill is not zero.
func (t *tally) start(args []string, kill time.Duration) {
	began := time.Now()
	id, err := runJob(args, kill)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil || id.text == "" || t.ids[id.text] {
		t.failed++
		fmt.Fprintln(os.Stderr, "a job failed, or repeated the ID:", id.text, err)
		return
	}
	t.ids[id.text] = true
	t.starts = append(t.starts, float64(id.at.Sub(began))/float64(time.Millisecond))
}

// printedID is the ID that a job has printed, and the time at which it did.
type printedID struct {
	text string
	at   time.Time
}

// runJob starts a job, and returns its ID after the job has ended. If kill is not zero,
// runJob kills the job this time after it has printed its ID.
func runJob(args []string, kill time.Duration) (printedID, error) {
	self, err := os.Executable()
	if err != nil {
		return printedID{}, err
	}
	command := exec.Command(self, append([]string{"-job"}, args...)...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return printedID{}, err
	}
	if err := command.Start(); err != nil {
		return printedID{}, err
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	id := printedID{lines.Text(), time.Now()}
	if kill > 0 {
		time.Sleep(kill)
		_ = command.Process.Kill()
		_ = command.Wait()
		return id, nil
	}
	_, _ = io.Copy(io.Discard, out)
	return id, command.Wait()
}

// measure starts all jobs, counts the workers that they hold, and prints the results.
func measure(o options) (err error) {
	db, err := o.open()
	if err != nil {
		return err
	}
	drop := func() error { return db.Exec("DROP TABLE IF EXISTS " + table).Error }
	if err := drop(); err != nil {
		return err
	}
	defer func() { _ = drop() }()
	t := &tally{ids: map[string]bool{}}
	began, usages := time.Now(), make(chan usage)
	jobs, cancel := context.WithCancel(context.Background())
	go func() { usages <- watch(jobs, db) }()
	t.startAll(o)
	ended := time.Since(began)
	cancel()
	u := <-usages
	fmt.Printf("%s, %d CPUs, %s, window %v\n", db.Name(), runtime.NumCPU(), runtime.Version(), o.window)
	fmt.Printf("%d jobs in %.1fs, %d failed; an ID after %.0f ms (p50), %.0f ms (p99)\n",
		o.jobs, ended.Seconds(), t.failed, stats.Quantile(t.starts, 0.5), stats.Quantile(t.starts, 0.99))
	fmt.Printf("workers held at once: %d at most, %d after the last job, none %.0fs later\n", u.most, u.atEnd, u.free.Seconds())
	return nil
}

// startAll starts all jobs, and returns when the last job has ended.
func (t *tally) startAll(o options) {
	var wg sync.WaitGroup
	for i := range o.jobs {
		kill := time.Duration(0)
		if i%10 == 9 { // each tenth job is killed halfway
			kill = o.work / 2
		}
		wg.Go(func() { t.start(os.Args[1:], kill) })
		time.Sleep(o.within / time.Duration(o.jobs))
	}
	wg.Wait()
}

// usage contains the numbers of workers that were held.
type usage struct {
	most, atEnd int           // at most at once, and after the last job
	free        time.Duration // from the last job until all workers were free
}

// watch counts workers until all workers are free after the jobs, which end with the context
// jobs.
func watch(jobs context.Context, db *gorm.DB) (u usage) {
	store := sqllease.New(db, sqllease.WithTable(table))
	var done time.Time
	for ; ; time.Sleep(200 * time.Millisecond) {
		n := count(store)
		u.most = max(u.most, n)
		if jobs.Err() != nil && done.IsZero() {
			done, u.atEnd = time.Now(), n
		}
		if !done.IsZero() && n == 0 {
			u.free = time.Since(done)
			return u
		}
	}
}

// count returns the number of workers that are not free, or 0 while there is no table. A
// worker whose process was killed is not free until its window has ended.
func count(store lease.Store) (n int) {
	in, err := lease.Inspect(context.Background(), store)
	if err != nil {
		return 0
	}
	for _, h := range in.Holders {
		if s := h.State(time.Now()); s == lease.Held || s == lease.Waiting {
			n++
		}
	}
	return n
}
