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

// childURL is the environment variable with the URL of a database. If it is set, this
// test binary does not run tests but moves the tables of that database, so that a test
// can kill the process. childPace is the variable with the pace of the move.
const (
	childURL  = "GORMFLAKE_ONLINE_CHILD"
	childPace = "GORMFLAKE_ONLINE_PACE"
)

// TestMain runs the tests or, in a child process, the move.
func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		os.Exit(childMove(url))
	}
	m.Run()
}

// childMove moves the tables of the database and returns the exit code of the process. It
// prints an error as the last line of the output, where [runChild] finds it.
func childMove(url string) int {
	if err := tryMove(url); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// tryMove applies the online plan of the tables in the database of url, and prints each
// step. The form of url tells which kind of database it is, and which tables a test has
// created there. A URL that begins with postgres: is of PostgreSQL, and of partitioned
// tables if it also ends with partedChild. Any other is of MariaDB or MySQL.
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
	pace := sqlmigrate.Pace(os.Getenv(childPace))
	return plan.Apply(context.Background(), db, sqlmigrate.WithPace(pace), sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) { fmt.Println(childStep+string(p.Stage), p.Step) }))
}

const (
	childStep   = "step "                    // begins a line that contains the stage and the text of a step
	partedChild = "&application_name=parted" // ends the URL of a database with partitioned tables
)

// runChild starts a child process that moves the tables at a pace. For each step it calls
// at with the stage, the text of the step, and a function that kills the child. done
// reports whether the child has completed the move. If the child failed, failed is the last
// line of its output. If the child was killed, done is false and failed is empty.
func runChild(t *testing.T, url string, pace sqlmigrate.Pace, at func(stage, step string, kill func())) (done bool, failed string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+url, childPace+"="+string(pace))
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
	case child.ProcessState.ExitCode() == -1: // a signal ended the child
		return false, ""
	}
	return false, failed
}

// childOnce runs a child until it has completed the move. If kill is true, it kills the
// child at a random moment, shortly after the child has begun one of its first steps. This
// is step number most at the latest, so that steps remain for further kills. childOnce
// returns the number of steps that the child began, and whether it completed the move.
func childOnce(t *testing.T, url string, kill bool, most int) (done bool, steps int) {
	t.Helper()
	killAt := 1 + rand.IntN(most)
	done, failed := runChild(t, url, sqlmigrate.PacePolite, func(_, _ string, end func()) {
		if steps++; kill && steps == killAt {
			time.Sleep(rand.N(20 * time.Millisecond))
			end()
		}
	})
	if failed != "" {
		t.Fatal(failed)
	}
	return done, steps
}
