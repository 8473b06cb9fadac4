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
	jobs   int           // how many processes are started
	within time.Duration // the time in which they start
	work   time.Duration // how long each process works
	window time.Duration // the window of each lease
	isJob  bool          // whether this is one of the processes, and not the process that measures
}

func main() {
	var o options
	flag.StringVar(&o.dsn, "dsn", "", "the `database`, mysql://… or postgres://…")
	flag.IntVar(&o.jobs, "jobs", 500, "how many processes are started")
	flag.DurationVar(&o.within, "within", 10*time.Second, "the time in which they start")
	flag.DurationVar(&o.work, "work", 3*time.Second, "how long each works")
	flag.DurationVar(&o.window, "window", time.Minute, "of each lease")
	flag.BoolVar(&o.isJob, "job", false, "be one of the processes; for the command itself")
	flag.Parse()
	run := measure
	if o.isJob {
		run = runAsJob
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

// runAsJob does the work of a job, in its own process. It leases a worker and prints an ID as a
// line, so that the process that measures sees when the job has its ID. The job then works for
// a while, and closes the generator, which releases the worker.
func runAsJob(o options) error {
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
	starts []float64 // for each job, the milliseconds from its start to its ID
	ids    map[string]bool
	failed int // jobs without an ID, with an error, or with the ID of another job
}

// runAndCount runs a job in a new process, and counts its result. args are the arguments of
// this process. If killAfter is not zero, the job is killed this time after it has its ID.
func (t *tally) runAndCount(args []string, killAfter time.Duration) {
	began := time.Now()
	id, err := runProcess(args, killAfter)
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

// printedID is the ID that a job has printed, and the time at which it was read.
type printedID struct {
	text string
	at   time.Time
}

// runProcess starts this program again as a job, waits until the job has ended, and returns
// its ID. If killAfter is not zero, it kills the job this time after the job has printed its
// ID, so that the job does not release its worker.
func runProcess(args []string, killAfter time.Duration) (printedID, error) {
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
	if killAfter > 0 {
		time.Sleep(killAfter)
		_ = command.Process.Kill()
		_ = command.Wait()
		return id, nil
	}
	_, _ = io.Copy(io.Discard, out) // until the job ends, because Wait closes the pipe
	return id, command.Wait()
}

// measure starts all jobs, counts the workers that they hold at once, waits until all workers
// are free, and prints the results.
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
	jobs, jobsEnded := context.WithCancel(context.Background())
	go func() { usages <- watch(jobs, db) }()
	t.runAll(o)
	took := time.Since(began)
	jobsEnded()
	u := <-usages
	fmt.Printf("%s, %d CPUs, %s, window %v\n", db.Name(), runtime.NumCPU(), runtime.Version(), o.window)
	fmt.Printf("%d jobs in %.1fs, %d failed; an ID after %.0f ms (p50), %.0f ms (p99)\n",
		o.jobs, took.Seconds(), t.failed, stats.Quantile(t.starts, 0.5), stats.Quantile(t.starts, 0.99))
	fmt.Printf("workers held at once: %d at most, %d after the last job, none %.0fs later\n", u.most, u.atEnd, u.free.Seconds())
	return nil
}

// runAll starts the jobs at regular intervals within o.within, and returns when the last job
// has ended.
func (t *tally) runAll(o options) {
	var wg sync.WaitGroup
	for i := range o.jobs {
		killAfter := time.Duration(0)
		if i%10 == 9 { // each tenth job is killed halfway
			killAfter = o.work / 2
		}
		wg.Go(func() { t.runAndCount(os.Args[1:], killAfter) })
		time.Sleep(o.within / time.Duration(o.jobs))
	}
	wg.Wait()
}

// usage contains the numbers of workers that were held.
type usage struct {
	most, atEnd int           // the largest number at once, and the number when the last job had ended
	free        time.Duration // the time from the end of the last job until all workers were free
}

// watch counts the workers that are held, every 0.2 seconds, until all jobs have ended and all
// workers are free. The context jobs is canceled when the last job has ended.
func watch(jobs context.Context, db *gorm.DB) (u usage) {
	store := sqllease.New(db, sqllease.WithTable(table))
	var done time.Time // the end of the last job, or zero
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

// count returns the number of workers that are not free. A worker whose process was killed is
// not free until its window has ended, and a released worker not until the clock has reached its
// bound (Waiting). An error counts as 0, because the first job creates the table only after watch
// has begun.
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
