package migrate_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// An online move can be planned, partly applied, steered, reverted, applied in full and
// finished. SQLite does not support it.
func TestMigrateOnline(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		online := func(verb string, args ...string) clitest.Outcome {
			return clitest.Command(t, append([]string{"migrate", "online", verb, "--dsn", url, "orders", "order_lines"}, args...)...)
		}
		// next is the stage after copy. locks, copied and back are parts of the outputs of
		// plan, apply and revert. MySQL has no stage index, and other steps than PostgreSQL.
		next, locks, copied, back := "index", "LOCK TABLE ", "copy 5/", "prepare 1/"
		switch db.Name() {
		case "sqlite":
			clitest.WantOutcome(t, online("plan"), clitest.Failed, "", "an online widening is not supported on sqlite: apply phase widen")
			return
		case "mysql":
			next, locks, copied, back = "constrain", "LOCK TABLES ", "copy ", "prepare "
		}
		before := clitest.Schema(t, url)
		clitest.WantOutcome(t, online("plan"), clitest.Findings, "Stage swap: ", "")
		clitest.WantOutcome(t, online("plan"), clitest.Findings, locks, "")
		clitest.WantOutcome(t, online("plan", "--back"), clitest.Findings, "Back from stage swap: ", "")
		clitest.WantOutcome(t, online("status"), clitest.OK, "no move is under way", "")
		clitest.WantOutcome(t, online("status", "--prometheus"), clitest.OK, "# TYPE gormflake_online_under_way gauge\ngormflake_online_under_way{database=", "")
		// A label has no escape for a tab.
		odd := clitest.Command(t, "migrate", "online", "status", "--dsn", url, "--prometheus", "\"a\tb\"")
		clitest.WantOutcome(t, odd, clitest.OK, "tables=\"\\\"a\tb\\\"\"} 0", "")
		clitest.WantOutcome(t, online("finish", "--yes"), clitest.Failed, "", "no online move of these tables is under way")

		clitest.WantOutcome(t, online("apply", "--yes", "--replica", "mysql://127.0.0.1:1"), clitest.Failed, "", "--replica 1: database")
		if db.Name() == "mysql" {
			address := "mysql://" + strings.SplitN(strings.SplitN(url, "@", 2)[1], "/", 2)[0]
			clitest.WantOutcome(t, online("apply", "--yes", "--replica", address), clitest.Failed, "", "a server with the server_id of the primary: want the address of the replica itself")
			clitest.WantOutcome(t, online("revert", "--yes"), clitest.OK, "taken back", "prepare ")
		} else {
			clitest.WantOutcome(t, online("apply", "--yes", "--replica", url), clitest.Failed, "", "WithReplicas: a handle of postgres: want one of MariaDB or MySQL")
		}
		clitest.WantOutcome(t, online("apply", "--yes", "--until", "copy"), clitest.OK, "applied", copied)
		clitest.WantOutcome(t, online("status"), clitest.OK, "stage "+next+"; next: gormflake migrate online apply, or revert", "")
		clitest.WantOutcome(t, online("pause"), clitest.OK, "; paused", "")
		clitest.WantOutcome(t, online("status", "--prometheus"), clitest.OK, `tables="orders,order_lines"} 1`+"\n# HELP gormflake_online_reverting ", "")
		clitest.WantOutcome(t, online("status", "--prometheus"), clitest.OK, `tables="orders,order_lines",stage="`+next+`"} 1`, "")
		limits := []string{"--between", "22:00-06:00", "--max-running", "7", "--stall", "20ms", "--pace", "full", "--hold-swap"}
		clitest.WantOutcome(t, online("throttle", limits...), clitest.OK, "; paused; the swap waits for resume; batches take up to 20ms; its pace is full; it works between 22:00-06:00; it waits while more than 7 statements are running", "")
		clitest.WantOutcome(t, online("resume"), clitest.OK, "steps done; batches", "")
		clitest.WantOutcome(t, online("throttle"), clitest.OK, "steps done, stage", "")
		clitest.WantOutcome(t, online("revert", "--yes"), clitest.OK, "taken back", back)
		clitest.WantOutcome(t, online("pause"), clitest.Failed, "", "no online move of these tables is under way")
		if after := clitest.Schema(t, url); after != before {
			t.Errorf("after revert:\n%s\nwant what was before:\n%s", after, before)
		}

		clitest.WantOutcome(t, online("apply", "--yes"), clitest.OK, "applied; next: gormflake migrate online finish, or revert", "swap ")
		clitest.WantOutcome(t, online("status"), clitest.OK, "the keys are wide; next: gormflake migrate online finish, or revert", "")
		clitest.WantOutcome(t, online("finish", "--yes"), clitest.OK, "finished", "finish ")
		clitest.WantOutcome(t, online("apply", "--yes"), clitest.OK, "nothing to do", "")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen", "orders", "order_lines"), clitest.OK, "nothing to do", "")
	})
}

// A flag with an invalid value is a usage error, which is reported before the missing
// database.
func TestMigrateOnlineMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, value, want string }{
		{"--until", "finish", `--until "finish": want one of prepare, copy, index, constrain, swap`},
		{"--until", "", `--until "": want one of`},
		{"--batch-rows", "5", "--batch-rows [5]: want two numbers"},
		{"--batch-rows", "5,4", "--batch-rows [5 4]: want two numbers"},
		{"--stall", "0", "--stall 0s: want more than zero"},
		{"--pace", "fast", `--pace "fast": want polite or full`},
		{"--pace", "", `--pace "": want polite or full`},
		{"--max-lag", "-1s", "--max-lag -1s: want zero or more"},
		{"--lock-timeout", "0", "--lock-timeout 0s: want 1ms or more"},
	} {
		got := clitest.Command(t, "migrate", "online", "apply", "--dsn", "sqlite://x", test.flag+"="+test.value, "orders")
		clitest.WantOutcome(t, got, clitest.Usage, "", test.want)
	}
	for _, test := range []struct{ flag, want string }{
		{"--between=22", `--between "22": want two times of the day, as 22:00-06:00`},
		{"--pace=fast", `--pace "fast": want polite or full`},
		{"--stall=-1s", "--stall -1s, --max-running 0: want zero or more"},
	} {
		got := clitest.Command(t, "migrate", "online", "throttle", "--dsn", "sqlite://x", test.flag, "orders")
		clitest.WantOutcome(t, got, clitest.Usage, "", test.want)
	}
}
