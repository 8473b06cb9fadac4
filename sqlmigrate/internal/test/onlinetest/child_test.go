package onlinetest_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// childURL is the variable that makes this test binary carry a move out, to be
// killed at it.
const childURL = "GORMFLAKE_ONLINE_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		os.Exit(childMove(url))
	}
	m.Run()
}

func childMove(url string) int {
	if err := tryMove(url); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func tryMove(url string) error {
	dialector, targets, err := postgres.Open(url), pgTargets, error(nil)
	switch {
	case strings.HasSuffix(url, partedChild):
		targets = pgPartedTargets
	case !strings.HasPrefix(url, "postgres:"):
		targets = mariadbTargets
		if dialector, err = mariadbDialector(url); err != nil {
			return err
		}
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	plan, err := tryOnline(context.Background(), db, targets...)
	if err != nil {
		return err
	}
	return plan.Apply(context.Background(), db, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) { fmt.Println(childStep+string(p.Stage), p.Step) }))
}

const (
	childStep   = "step "                    // begins a line, with the stage and what it does
	partedChild = "&application_name=parted" // ends the URL for the partitioned tables
)

// runChild starts a child, and tells at the stage and the text of each of its steps. The child has
// done all, was killed, or says what went wrong.
func runChild(t *testing.T, url string, at func(stage, step string, kill func())) (done bool, failed string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+url)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		failed = lines.Text()
		if line, ok := strings.CutPrefix(failed, childStep); ok {
			stage, step, _ := strings.Cut(line, " ")
			at(stage, step, func() { _ = child.Process.Kill() })
		}
	}
	switch err := child.Wait(); {
	case err == nil:
		return true, ""
	case child.ProcessState.ExitCode() == -1:
		return false, ""
	}
	return false, failed
}

// childOnce starts a child, and kills it after most of its steps, or fewer, and a
// moment.
func childOnce(t *testing.T, url string, kill bool, most int) (done bool, steps int) {
	t.Helper()
	last := 1 + rand.IntN(most)
	done, failed := runChild(t, url, func(_, _ string, end func()) {
		if steps++; kill && steps == last {
			time.Sleep(rand.N(20 * time.Millisecond))
			end()
		}
	})
	if failed != "" {
		t.Fatal(failed)
	}
	return done, steps
}
