package sqllease_test

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// regionVariable and datacenterVariable are the environment variables that give a child
// process the database of its region and its datacenter.
const (
	regionVariable     = "SQLLEASE_TEST_REGION_DSN"
	datacenterVariable = "SNOWFLAKE_DATACENTER_ID"

	regionProcesses = 3
	regionRows      = 1000 // of each process
)

// A regionRow is written in a region and read in the merged database.
type regionRow struct {
	gormflake.Model
	Region string
}

// Rows of two regions, whose databases have never been connected, can be merged into one
// database if each region has a datacenter of its own. All processes have the same clock,
// which stands still, and start the sequence at 0, so that only the datacenter
// distinguishes the IDs of the regions. With one datacenter for both, every ID repeats.
func TestRegionsMeet(t *testing.T) {
	t.Parallel()
	const all = 2 * regionProcesses * regionRows
	for _, test := range []struct {
		name        string
		datacenters []string
		want        int64
	}{
		{"a datacenter for each", []string{"0", "1"}, all},
		{"the same datacenter", []string{"0", "0"}, all / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			merged := testdb.Open(t, testdb.SQLite)
			migrate(t, merged)
			var kept int64
			for _, rows := range writeRegions(t, test.datacenters) {
				added := merged.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(rows, 500)
				if added.Error != nil {
					t.Fatal(added.Error)
				}
				kept += added.RowsAffected
			}
			if kept != test.want {
				t.Errorf("%d of %d rows have a key of their own, want %d", kept, all, test.want)
			}
		})
	}
}

// writeRegions runs the processes of all regions at the same time, and returns the rows
// of each region.
func writeRegions(t *testing.T, datacenters []string) [][]regionRow {
	t.Helper()
	regions := make([]*gorm.DB, len(datacenters))
	var wg sync.WaitGroup
	for i, datacenter := range datacenters {
		regions[i] = testdb.Open(t, testdb.SQLite)
		migrate(t, regions[i])
		for range regionProcesses {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRegionsMeetChild$", "-test.count=1")
			child.Env = append(os.Environ(), datacenterVariable+"="+datacenter,
				regionVariable+"="+regions[i].Dialector.(*sqlite.Dialector).DSN)
			wg.Go(func() {
				if output, err := child.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, output)
				}
			})
		}
	}
	wg.Wait()
	rows := make([][]regionRow, len(regions))
	for i, region := range regions {
		if err := region.Find(&rows[i]).Error; err != nil || len(rows[i]) != regionProcesses*regionRows {
			t.Fatalf("region %d has %d rows (%v), want %d", i, len(rows[i]), err, regionProcesses*regionRows)
		}
	}
	return rows
}

// migrate creates the table of regionRow.
func migrate(t *testing.T, db *gorm.DB) {
	t.Helper()
	if err := db.AutoMigrate(&regionRow{}); err != nil {
		t.Fatal(err)
	}
}

// TestRegionsMeetChild is one of the processes of TestRegionsMeet. It is configured as
// docs/clusters.md shows, and creates rows in the database of its region.
func TestRegionsMeetChild(t *testing.T) {
	dsn := os.Getenv(regionVariable)
	if dsn == "" {
		t.Skip("started by TestRegionsMeet")
	}
	datacenter, err := strconv.ParseInt(os.Getenv(datacenterVariable), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	still := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	db := open(t, sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: dsn}))
	gen, err := gormflake.Open(t.Context(), db,
		gormflake.WithLease(lease.WithDatacenter(datacenter), lease.WithWorkers(0, regionProcesses-1),
			lease.WithClock(func() time.Time { return still })),
		gormflake.WithSnowflake(snowflake.WithSequenceStart(snowflake.StartZero)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]regionRow, regionRows)
	for i := range rows {
		rows[i].Region = os.Getenv(datacenterVariable)
	}
	// A transaction for each batch, because SQLite's writer lock is not given in turn, and a
	// process would wait for too long while others insert all of their rows.
	if err := db.Session(&gorm.Session{SkipDefaultTransaction: true}).CreateInBatches(rows, 100).Error; err != nil {
		t.Fatal(err)
	}
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
