package tree_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// treeCases is the number of cases for each database, which makes 2,000 on all five.
const treeCases = 400

// TestRandomTrees creates random trees by Create, Assign, upserts and other ways, and
// compares the database with the trees. The key of every struct is the key of its row, every
// foreign key is the key of the parent, and there is no other row. A failing case prints as
// few steps as possible, and the command that runs it again. GORMFLAKE_TEST_TREES sets the
// number of cases of each database.
func TestRandomTrees(t *testing.T) {
	t.Parallel()
	cases := treeCases
	if text := os.Getenv("GORMFLAKE_TEST_TREES"); text != "" {
		var err error
		if cases, err = strconv.Atoi(text); err != nil {
			t.Fatalf("GORMFLAKE_TEST_TREES: %v", err)
		}
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		kinds := treeKinds()
		db.DisableForeignKeyConstraintWhenMigrating = true
		for _, kind := range kinds {
			plugintest.Migrate(t, db, kind.model)
		}
		target := uint64(slices.Index(testdb.Targets(), testdb.TargetOf(db)))
		for i := range cases {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				steps := randomSteps(rand.New(rand.NewPCG(uint64(i), target)))
				if problem, _ := playTrees(t, db, kinds, steps); problem != "" {
					reportTrees(t, db, kinds, steps, problem)
				}
			})
		}
	})
}

// randomSteps returns the steps of a case.
func randomSteps(r *rand.Rand) []treeStep {
	steps := make([]treeStep, 1+r.IntN(5))
	for i := range steps {
		steps[i] = treeStep{seed: r.Uint64(), maxRows: 1 + r.IntN(12)}
	}
	return steps
}

// playTrees runs these steps. It returns the problem, and a log of the steps, and leaves
// the tables empty.
func playTrees(t *testing.T, db *gorm.DB, kinds []treeKind, steps []treeStep) (problem string, log []string) {
	t.Helper()
	tx := db.Begin()
	plugintest.Must(t, tx)
	defer tx.Rollback()
	f := newForest(tx, kinds)
	for i, step := range steps {
		f.log = append(f.log, fmt.Sprintf("%d.", i+1))
		if err := f.run(step); err != nil {
			return "error: " + err.Error(), f.log
		}
	}
	problems, err := f.check()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(problems, "\n"), f.log
}

// reportTrees searches for a shorter case that also fails, and reports it.
func reportTrees(t *testing.T, db *gorm.DB, kinds []treeKind, steps []treeStep, problem string) {
	t.Helper()
	for shorter := true; shorter; {
		shorter = false
		for _, fewer := range shorterTrees(steps) {
			if p, _ := playTrees(t, db, kinds, fewer); p != "" {
				steps, problem, shorter = fewer, p, true
				break
			}
		}
	}
	_, log := playTrees(t, db, kinds, steps)
	t.Errorf("%s\nafter\n%s\nagain: go test ./internal/tree -run '%s$'", problem, strings.Join(log, "\n"), t.Name())
}

// shorterTrees returns variants of the steps, each without one step, or with fewer rows
// in one step.
func shorterTrees(steps []treeStep) (all [][]treeStep) {
	for i := range steps {
		if len(steps) > 1 {
			all = append(all, slices.Delete(slices.Clone(steps), i, i+1))
		}
	}
	for i, step := range steps {
		for _, rows := range []int{step.maxRows / 2, step.maxRows - 1} {
			if rows > 0 && rows < step.maxRows {
				fewer := slices.Clone(steps)
				fewer[i].maxRows = rows
				all = append(all, fewer)
			}
		}
	}
	return all
}
