package sqllease_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/postgres"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

const (
	crowdVariable  = "SQLLEASE_TEST_CROWD_DSN"
	crowdProcesses = 8
	crowdEach      = 1024 / crowdProcesses
	crowdConns     = 4
)

// Every worker of the default layout is taken, by eight processes at once: all
// are distinct, and the next one is told who holds them.
func TestThousandGenerators(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	dsn := db.Dialector.(*postgres.Dialector).DSN
	ids := make(chan string, 1024)
	began := time.Now()
	var wg sync.WaitGroup
	for range crowdProcesses {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThousandGeneratorsChild$", "-test.count=1")
		child.Env = append(os.Environ(), crowdVariable+"="+dsn)
		wg.Go(func() { report(t, child, ids) })
	}
	wg.Wait()
	close(ids)
	t.Logf("1024 generators in %v", time.Since(began))
	holders := map[string]bool{}
	for worker := range ids {
		if holders[worker] {
			t.Errorf("worker %s was granted twice", worker)
		}
		holders[worker] = true
	}
	if len(holders) != 1024 {
		t.Errorf("%d workers, want 1024", len(holders))
	}
	if t.Failed() {
		return
	}
	_, err := lease.Acquire(t.Context(), sqllease.New(db), snowflake.TwitterLayout())
	if !errors.Is(err, lease.ErrNoFreeWorker) || !strings.Contains(err.Error(), "all 1024 leased") || !strings.Contains(err.Error(), "by ") {
		t.Errorf("the 1025th: %v, want ErrNoFreeWorker with names", err)
	}
	t.Log(err)
}

// report runs the process until it has said all its workers, and lets it live
// until the end of the test: a process that ends gives its workers back.
func report(t *testing.T, child *exec.Cmd, workers chan<- string) {
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Error(err)
		return
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	if err := child.Start(); err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = child.Wait()
	})
	n := 0
	lines := bufio.NewScanner(stdout)
	for n < crowdEach && lines.Scan() {
		if worker, ok := strings.CutPrefix(lines.Text(), "worker "); ok {
			workers <- worker
			n++
		} else {
			t.Log(lines.Text())
		}
	}
	if n < crowdEach {
		t.Errorf("a process has %d generators, want %d", n, crowdEach)
	}
}

// TestThousandGeneratorsChild is one of the processes.
func TestThousandGeneratorsChild(t *testing.T) {
	dsn := os.Getenv(crowdVariable)
	if dsn == "" {
		t.Skip("started by TestThousandGenerators")
	}
	db := open(t, postgres.Open(dsn))
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(crowdConns)
	pool.SetMaxIdleConns(crowdConns)
	store := sqllease.New(db)
	var wg sync.WaitGroup
	starting := make(chan struct{}, crowdConns) // the wait for a connection is not part of the test
	for range crowdEach {
		wg.Go(func() {
			starting <- struct{}{}
			defer func() { <-starting }()
			generator(t, store)
		})
	}
	wg.Wait()
	if !t.Failed() {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

func generator(t *testing.T, store lease.Store) {
	l, err := lease.Acquire(context.Background(), store, snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Error(err)
		return
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() {
		if err := gen.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	id, err := gen.Next(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	parts := gen.Layout().Decompose(id)
	_, _ = fmt.Fprintf(os.Stdout, "worker %d/%d\n", parts.Datacenter, parts.Worker)
}
