package onlinetest_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// mariadbHeld tests that the swap tries again until a long transaction ends. Meanwhile
// programs use the tables. They must not get an error, and no write may be lost.
//
// On MySQL, where the shortest lock timeout is a second, the run ends its waiting statement
// earlier over another connection, so a program behind the statement must wait for less than
// a second. The test checks this with GORMFLAKE_TEST_ROWS only, because programs wait longer
// on a machine that runs other tests at the same time.
func mariadbHeld(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(customers)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	release := mariadbHold(t, d)
	programs := mariadbLoad(t, d)
	waited := 0
	err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if strings.Contains(p.Waiting, "a lock, after") {
			if waited++; waited == 2 {
				release()
			}
		}
	}))
	programs.end(t)
	if err != nil {
		t.Fatal(err)
	}
	if waited < 2 {
		t.Errorf("it waited %d times for a lock, want 2", waited)
	}
	for _, p := range programs.programs {
		if limit := 700 * time.Millisecond; server.mysql && os.Getenv("GORMFLAKE_TEST_ROWS") != "" && p.longest > limit {
			t.Errorf("%s waited %v, want %v at most", p.name, p.longest, limit)
		}
	}
	mariadbCheckRows(t, d)
}

// mariadbHold opens a transaction that reads orders, and returns the function that ends
// it.
func mariadbHold(t *testing.T, d *mariadbDatabase) (release func()) {
	t.Helper()
	reader := d.Begin()
	if err := reader.Exec("SELECT * FROM orders LIMIT 1").Error; err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { reader.Rollback() })
}

// mariadbPolite tests that a transaction of two seconds does not stop a short step. The step
// first tries for three seconds without making programs wait, so it succeeds after the
// transaction. If the step waited for the lock in the queue instead, it would give up after a
// second, which is the lock timeout. The run would then report that it waits, and the test
// would fail.
func mariadbPolite(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	plan, release := d.online(t), mariadbHold(t, d)
	time.AfterFunc(2*time.Second, release)
	err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if p.Waiting != "" {
			t.Errorf("it waits for %s", p.Waiting)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// mariadbTwice tests that a second run is refused while another run is under way, because
// two runs would do the same steps at once.
func mariadbTwice(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	plan, second := d.online(t), d.online(t)
	tried := false
	err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(sqlmigrate.OnlineProgress) {
		if !tried {
			tried = true
			wantError(t, second.Apply(context.Background(), mariadbOpen(t, d.dsn)), "another run is under way")
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}
