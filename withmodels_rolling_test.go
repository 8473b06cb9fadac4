package gormflake_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// account contains the rows that programs have inserted, by the keys that the programs
// received for them. TestRollingDeploy compares it with the tables.
type account struct {
	mu         sync.Mutex
	posts      map[uint]string
	duplicates []string // keys that two programs received, with both rows
	errs       []error  // errors of inserts
}

// add records the rows of an insert, or its error.
func (a *account) add(err error, posts ...plainPost) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.errs = append(a.errs, err)
		return
	}
	for _, p := range posts {
		row := fmt.Sprint(p.PlainUserID, " ", p.Title)
		if before, ok := a.posts[p.ID]; ok {
			a.duplicates = append(a.duplicates, fmt.Sprintf("%d: %s, and %s", p.ID, before, row))
		}
		a.posts[p.ID] = row
	}
}

// roll inserts rows as an old and a new version of a program at the same time, in every
// way that could overwrite rows of the other version.
func roll(db, old *gorm.DB, rounds int) *account {
	a := &account{posts: map[uint]string{}}
	var programs sync.WaitGroup
	programs.Go(func() {
		for range rounds {
			single, many := plainPost{Title: rand.Text()}, []plainPost{{Title: rand.Text()}, {Title: rand.Text()}}
			err := old.Create(&single).Error // before single is copied, because Create sets its key
			a.add(err, single)
			a.add(old.Save(&many).Error, many...)
		}
	})
	programs.Go(func() {
		for range rounds {
			single, many := plainPost{Title: rand.Text()}, []plainPost{{Title: rand.Text()}, {Title: rand.Text()}}
			user := plainUser{Name: rand.Text(), Posts: []plainPost{{Title: rand.Text()}, {Title: rand.Text()}}}
			err := db.Create(&single).Error
			a.add(err, single)
			a.add(db.Save(&many).Error, many...)
			err = db.Create(&user).Error
			a.add(err, user.Posts...)
		}
	})
	programs.Wait()
	return a
}

// stored returns the rows of a table in the form of an account.
func stored(t *testing.T, db *gorm.DB) map[uint]string {
	t.Helper()
	var posts []plainPost
	plugintest.Must(t, db.Find(&posts))
	found := map[uint]string{}
	for _, p := range posts {
		found[p.ID] = fmt.Sprint(p.PlainUserID, " ", p.Title)
	}
	return found
}

// TestRollingDeploy checks that no row is lost or overwritten in a rolling deploy, during
// which an old version of a program, without the plugin, and a new version with the plugin
// insert into the same tables. Before the new version starts, package sqlmigrate parks the
// counters of the tables. On MySQL, MariaDB and SQLite, this means that the keys which the
// database assigns to rows of the old version are far above the IDs of the generator. The
// sequences of PostgreSQL stay as they are, because they do not follow the keys of
// programs. The plan has the layout of openUsers.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		old := otherProgram(t, db)
		plugintest.Migrate(t, old, plainUsers...)
		plugintest.Must(t, old.Create(&plainUser{Name: "old", Posts: make([]plainPost, 3)}))
		plan, err := sqlmigrate.InspectWith(t.Context(), old, plainUsers, sqlmigrate.WithParkedCounters(), sqlmigrate.WithLayout(snowflake.JSSafeLayout()))
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Apply(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		before := stored(t, old)
		if err := openUsers(t, db); err != nil {
			t.Fatal(err)
		}
		a := roll(db, old, 40)
		for _, err := range a.errs {
			t.Error(err)
		}
		if len(a.duplicates) > 0 {
			t.Errorf("%d rows were overwritten, such as %s", len(a.duplicates), a.duplicates[0])
		}
		maps.Copy(a.posts, before)
		if found := stored(t, db); !maps.Equal(found, a.posts) {
			t.Errorf("%d rows are not the %d that were written", len(found), len(a.posts))
		}
	})
}

// TestRollingDeployUnparked checks that rows are overwritten, or inserts conflict, if the
// counter is not parked, and that an account records this. Otherwise TestRollingDeploy,
// which checks an account too, would prove nothing.
func TestRollingDeployUnparked(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	old := otherProgram(t, db)
	plugintest.Migrate(t, old, plainUsers...)
	if err := openUsers(t, db, gormflake.WithUnparkedCounters()); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < patience; {
		a := alternate(db, old)
		if len(a.duplicates) > 0 {
			return
		}
		for _, err := range a.errs {
			if strings.Contains(err.Error(), "UNIQUE constraint failed") {
				return
			}
			t.Fatal(err)
		}
	}
	t.Error("no row was overwritten, and there was no conflict")
}

// patience is how long a test waits for an event that needs some luck.
const patience = time.Minute

// alternate inserts rows in turn as a new and an old version of a program. If the counter
// follows the keys of the new version, the old version gets the key that the new version
// makes next in the same tick.
func alternate(db, old *gorm.DB) *account {
	a := &account{posts: map[uint]string{}}
	first, next, many := plainPost{Title: rand.Text()}, plainPost{Title: rand.Text()}, []plainPost{{Title: rand.Text()}, {Title: rand.Text()}}
	err := db.Create(&first).Error // before first is copied, because Create sets its key
	a.add(err, first)
	err = old.Create(&next).Error
	a.add(err, next)
	a.add(db.Save(&many).Error, many...)
	return a
}
