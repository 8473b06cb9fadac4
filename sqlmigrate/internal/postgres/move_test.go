package postgres_test

import (
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// TestPostgres runs tests that share a server. Each of them creates its own database.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *migratetest.PgServer)
	}{
		{"Blockers", postgresBlockers},
		{"NoBlockers", postgresNoBlockers},
		{"NotThere", postgresNotThere},
		{"Matrix", postgresMatrix},
		{"Trimmings", postgresTrimmings},
		{"Kept", postgresKept},
		{"Tablespace", postgresTablespace},
		{"Random", postgresRandom},
		{"Elsewhere", postgresElsewhere},
		{"Roles", postgresRoles},
		{"RowSecurity", postgresRowSecurity},
		{"Plan", postgresPlan},
		{"Notes", postgresNotes},
		{"NoNotes", postgresNoNotes},
		{"Guards", postgresGuards},
		{"Connected", postgresConnected},
		{"Indexes", postgresIndexes},
		{"Tenants", postgresTenants},
		{"Failures", postgresFailures},
		{"RollsBack", postgresRollsBack},
		{"LockTimeout", postgresLockTimeout},
		{"LockScene", migratetest.PostgresLockScene},
		{"LocksTogether", migratetest.PostgresLocksTogether},
		{"TimeoutAfterLocks", migratetest.PostgresTimeoutAfterLocks},
		{"Killed", postgresKilled},
		{"Views", postgresViews},
		{"ViewBlockers", postgresViewBlockers},
		{"BlockersByObject", postgresBlockersByObject},
		{"Orphans", postgresOrphans},
		{"RevertBlocked", postgresRevertBlocked},
		{"Large", postgresLarge},
		{"ThreeHundred", postgresThreeHundred},
		{"Cancelled", postgresCancelled},
		{"OneConnection", postgresOneConnection},
		{"Silence", postgresSilence},
		{"Stuck", postgresStuck},
		{"NextKey", postgresNextKey},
		{"AtEnd", postgresAtEnd},
		{"LargeKeys", postgresLargeKeys},
		{"Trial", postgresTrial},
		{"Assigning", postgresAssigning},
		{"TrialNotes", postgresTrialNotes},
		{"TrialRight", postgresTrialRight},
		{"Dropped", postgresDropped},
		{"CodeOfTenants", postgresCodeOfTenants},
		{"GuardOfZero", postgresGuardOfZero},
		{"Restores", postgresRestores},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, server)
		})
	}
}
