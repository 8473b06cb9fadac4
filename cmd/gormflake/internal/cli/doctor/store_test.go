package doctor_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/redislease"
	"github.com/gormflake/gormflake/snowflake"
)

// doctor reports settings under which Redis may lose writes that it has acknowledged.
func TestDoctorRedis(t *testing.T) {
	t.Parallel()
	always := []string{"--appendonly yes", "--appendfsync always"}
	for _, test := range []struct {
		name      string
		settings  []string
		severity  string
		text, fix string
		problems  int
		warnings  int
	}{
		{"as it comes", nil, "warning", "may forget leases in a crash, appendonly=no", "appendfsync always", 0, 1},
		{"everysec", []string{"--appendonly yes"}, "warning", "appendfsync=everysec", "appendfsync always", 0, 1},
		{"not while saving", append([]string{"--no-appendfsync-on-rewrite yes"}, always...), "warning", "no-appendfsync-on-rewrite=yes", "no-appendfsync-on-rewrite no", 0, 1},
		{"evicting", append([]string{"--maxmemory-policy allkeys-lru"}, always...), "problem", `maxmemory-policy is "allkeys-lru": want "noeviction"`, "fix the error", 1, 0},
		{"always", always, "ok", "none is known", "", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := testserver.Redis(t, test.settings...).URL()
			d := diagnose(t, url)
			d.wantFinding(t, test.severity, "settings", "", test.text, test.fix)
			d.wantFinding(t, "ok", "clock", "", "measured within", "")
			d.wantCounts(t, test.problems, test.warnings)
			clitest.WantOutcome(t, clitest.Command(t, "doctor", "--dsn", url, "--table", "others"), clitest.Usage, "", `--table "others": want a database`)
		})
	}
}

// doctor checks workers and layout in Redis as it does in a database.
func TestDoctorRedisWorkers(t *testing.T) {
	t.Parallel()
	url := testserver.Redis(t, "--appendonly yes", "--appendfsync always").URL()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	diagnose(t, url).wantFinding(t, "ok", "workers", "", "no worker of namespace default was ever leased", "")
	l, err := lease.Acquire(t.Context(), redislease.New(client), snowflake.TwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release(t.Context())
	d := diagnose(t, url)
	d.wantFinding(t, "ok", "workers", "", "1023 of 1024 are free", "")
	d.wantFinding(t, "ok", "layout", "", "expires on", "")
	d.wantCounts(t, 0, 0)
	diagnose(t, url, "--layout", "js-safe").wantFinding(t, "problem", "layout", "", "the leased workers belong to", "use the stored layout everywhere")
}

// doctor warns that ZooKeeper does not reveal whether it syncs its log to disk, unless the
// URL states by forceSync=yes that it does.
func TestDoctorZooKeeper(t *testing.T) {
	t.Parallel()
	url := "zookeeper://" + testserver.ZooKeeper(t).URL()
	d := diagnose(t, url)
	d.wantFinding(t, "warning", "settings", "", "cannot see whether the servers wait for their disks", "forceSync=yes")
	d.wantCounts(t, 0, 1)
	diagnose(t, url+"?forceSync=yes").wantCounts(t, 0, 0)
	clitest.WantOutcome(t, clitest.Command(t, "doctor", "--dsn", url+"?forceSync=no"), clitest.Failed, "", "forceSync=no: want yes")
}

// doctor has no warning for etcd, which writes each change to disk.
func TestDoctorEtcd(t *testing.T) {
	t.Parallel()
	diagnose(t, "etcd://"+testserver.Etcd(t).Address()).wantCounts(t, 0, 0)
}
