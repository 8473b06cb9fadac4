package snowflake_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/snowflake"
)

// disturbedChild is set in the process that TestDisturbed starts and disturbs.
const disturbedChild = "GORMFLAKE_TEST_DISTURBED_CHILD"

// Eight goroutines make IDs while their threads are moved between the CPUs, the process
// is stopped and continued, and its clock is stepped. No ID may be repeated, out of
// order, ahead of the clock, or older than its call by more than a tick.
// GORMFLAKE_TEST_MILLIONS=50 makes 50 million IDs, in some 20 seconds.
//
// The test is not parallel, because it uses all CPUs.
func TestDisturbed(t *testing.T) {
	if os.Getenv(disturbedChild) != "" {
		makeDisturbed(t)
		return
	}
	runtime.LockOSThread() // because the child ends with this thread
	defer runtime.UnlockOSThread()
	var output bytes.Buffer
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDisturbed$", "-test.v")
	child.Env = append(os.Environ(), disturbedChild+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Stdout, child.Stderr = &output, &output
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	done, disturbed := make(chan struct{}), make(chan [2]int)
	go func() { disturbed <- disturb(child.Process, done) }()
	err := child.Wait()
	close(done)
	counts := <-disturbed
	t.Logf("%d moves of threads, %d stops\n%s", counts[0], counts[1], &output)
	if err != nil {
		t.Error(err)
	}
	if counts[0] < 100 || counts[1] < 10 {
		t.Errorf("%d moves and %d stops, too few", counts[0], counts[1])
	}
}

// disturb moves the threads of a process, and stops it from time to time, until done is
// closed. It returns the number of moves and the number of stops.
func disturb(p *os.Process, done <-chan struct{}) (counts [2]int) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return counts
		case <-time.After(rand.N(3 * time.Millisecond)):
		}
		counts[0] += moveThreads(p.Pid)
		if i%10 == 0 && p.Signal(syscall.SIGSTOP) == nil {
			time.Sleep(rand.N(10 * time.Millisecond))
			_ = p.Signal(syscall.SIGCONT)
			counts[1]++
		}
	}
}

// moveThreads binds each thread of a process to a random CPU, or lets it run on all CPUs. It
// returns the number of threads for which that has succeeded.
func moveThreads(pid int) (moved int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			continue
		}
		cpus := ^uint64(0)
		if on := rand.IntN(runtime.NumCPU() + 1); on < runtime.NumCPU() {
			cpus = 1 << (on % 64)
		}
		if _, _, err := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus))); err == 0 {
			moved++
		}
	}
	return moved
}

// makeDisturbed runs the trials in the child process.
func makeDisturbed(t *testing.T) {
	millions := 3.0
	if race.Enabled {
		millions = 0.3
	} else if text := os.Getenv("GORMFLAKE_TEST_MILLIONS"); text != "" {
		var err error
		if millions, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // so that the kernel interrupts goroutines at any point
	for _, test := range []struct {
		name     string
		share    float64 // part of the IDs
		layout   snowflake.Layout
		policy   snowflake.ClockPolicy
		scripted bool // with WithClock
	}{
		// name, share, layout, policy, scripted
		{"at the cap", 0.4, freshLayout(), snowflake.Tolerate(2 * time.Hour), false},
		{"a wide layout", 0.5, wideLayout(), snowflake.Fail(), false},
		{"WithClock", 0.1, freshLayout(), snowflake.Wait(20 * time.Millisecond), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newSteppedClock()
			opts := []snowflake.Option{snowflake.WithLayout(test.layout), snowflake.OnClockBackwards(test.policy)}
			if test.scripted {
				opts = append(opts, snowflake.WithClock(clock.now))
			}
			g := open(t, grantingSource(time.Now(), 1000*time.Hour), opts...)
			if !test.scripted {
				snowflake.Skew(g, clock.skew)
				snowflake.Compare(g, 10*time.Millisecond)
			}
			tr := &trial{layout: test.layout, clock: clock, tolerates: test.policy == snowflake.Tolerate(2*time.Hour)}
			tr.least = time.Now().Add(700 * time.Millisecond)
			tr.toMake.Store(int64(test.share * millions * 1e6))
			done, stepped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stepped)
				stepAround(clock, done)
			}()
			start := time.Now()
			made := tr.run(eightCallers(g)...)
			took := time.Since(start)
			close(done)
			<-stepped
			tr.faults.report(t)
			if got := g.Stats().Issued; got != uint64(made) {
				t.Errorf("%d issued, want %d", got, made)
			}
			t.Logf("%d IDs in %v, %d steps of the clock, %d waits, %d refusals", made, took, clock.made.Load(), g.Stats().Waits, g.Stats().Refusals)
		})
	}
}

// stepAround steps the clock in both directions. The clock spends most of the time at
// its highest value, which rises.
func stepAround(clock *steppedClock, done <-chan struct{}) {
	highest := time.Duration(0)
	for i := 0; ; i++ {
		stay, skew := rand.N(40*time.Millisecond), highest
		switch i % 4 {
		case 1:
			skew -= time.Hour
			if i%8 == 1 {
				stay = rand.N(5 * time.Millisecond)
			}
		case 3:
			skew -= rand.N(10 * time.Millisecond)
		default:
			highest += rand.N(3 * time.Millisecond)
			skew = highest
		}
		clock.set(skew)
		select {
		case <-done:
			return
		case <-time.After(stay):
		}
	}
}

// eightCallers returns callers that make IDs by all methods.
func eightCallers(g *snowflake.Generator) (callers []func([]id) (int, error)) {
	next := func(block []id) (int, error) {
		id, err := g.Next(ctx)
		return oneID(block, id, err)
	}
	try := func(block []id) (int, error) {
		id, err := g.TryNext()
		return oneID(block, id, err)
	}
	fill := func(block []id) (int, error) {
		time.Sleep(rand.N(time.Millisecond))
		block = block[:1+rand.IntN(len(block))]
		if err := g.Fill(ctx, block); err != nil {
			return oneID(block, 0, err)
		}
		return len(block), nil
	}
	burst := func(block []id) (n int, err error) {
		for n < 100 && err == nil {
			if block[n], err = g.TryNext(); err == nil {
				n++
			}
		}
		if n > 0 {
			return n, nil
		}
		return oneID(block, 0, err)
	}
	rare := func(block []id) (int, error) {
		time.Sleep(rand.N(200 * time.Microsecond))
		return next(block)
	}
	return []func([]id) (int, error){next, next, next, try, try, fill, burst, rare}
}

// oneID returns the result of a caller that has got one ID. An error that is transient
// counts as a call without an ID.
func oneID(block []id, id id, err error) (int, error) {
	if errors.Is(err, snowflake.ErrClockBackwards) || errors.Is(err, snowflake.ErrSequenceExhausted) {
		return 0, nil
	}
	block[0] = id
	return 1, err
}
