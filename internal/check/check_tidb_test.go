package check_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestCheckAutoRandom checks that Check reports TiDB's AUTO_RANDOM, which CREATE TABLE has in
// a comment that only TiDB executes. On MySQL and MariaDB the test replaces the server's
// answers by the answers of TiDB. "make tidb" runs the test on TiDB itself.
func TestCheckAutoRandom(t *testing.T) {
	t.Parallel()
	const random = "CREATE TABLE lives (id bigint PRIMARY KEY /*T![auto_rand] AUTO_RANDOM(5) */, public bigint, text varchar(20))"
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		// The tables with an empty want do not have AUTO_RANDOM.
		for ddl, want := range map[string]string{
			random: "field ID: table lives has AUTO_RANDOM on column id, so that TiDB refuses its keys (error 8216): create the table without AUTO_RANDOM",
			strings.Replace(random, "(5) */", "(5) */ COMMENT 'a `key`'", 1):                         "has AUTO_RANDOM on column id",
			strings.Replace(random, "/*T![auto_rand] AUTO_RANDOM(5) */", "", 1):                      "",
			strings.Replace(random, "/*T![auto_rand] AUTO_RANDOM(5) */", "COMMENT 'AUTO_RANDOM'", 1): "",
		} {
			for _, statement := range []string{"DROP TABLE IF EXISTS lives", ddl} {
				if err := db.Exec(statement).Error; err != nil {
					t.Fatal(err)
				}
			}
			err := gormflake.Check(asTiDB(t, db, ddl), &live{})
			if want != "" {
				plugintest.Wants(t, err, []string{want})
			} else if err != nil {
				t.Errorf("%s: %v", ddl, err)
			}
		}
	})
}

// asTiDB returns a handle with the answers that only TiDB gives, if the server is not
// TiDB.
func asTiDB(t *testing.T, db *gorm.DB, ddl string) *gorm.DB {
	t.Helper()
	var version string
	if err := db.Raw("SELECT VERSION()").Scan(&version).Error; err != nil {
		t.Fatal(err)
	}
	tx := db.Session(&gorm.Session{NewDB: true, Context: t.Context()})
	if !strings.Contains(version, "TiDB") {
		lines := strings.NewReplacer("(id", "(\n  `id`", ", public", ",\n  `public`").Replace(ddl)
		tx.Statement.ConnPool = rewrittenRow{rewritten{tx.Statement.ConnPool, func(query string) string {
			switch {
			case strings.HasPrefix(query, "SELECT VERSION"):
				return "SELECT '8.0.11-TiDB-v8.4.0'"
			case strings.HasPrefix(query, "SHOW CREATE TABLE"):
				return "SELECT 'lives', '" + strings.ReplaceAll(lines, "'", "''") + "'"
			}
			return query
		}}}
	}
	return tx
}

// rewrittenRow also rewrites queries of one row.
type rewrittenRow struct{ rewritten }

func (r rewrittenRow) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.ConnPool.QueryRowContext(ctx, r.rewrite(query), args...)
}
