package myonline_test

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An online move compares a table with its shadow in ranges of rows. The server makes a text
// of the range in either table. The move runs the query that counts differing rows only if
// the two texts differ, or if the server has cut a text. Here a range has two rows. The test
// replaces the query by one that always returns 7, so Compare returns an error if it has run
// the query. It must run the query for another value in any row, for a missing row, and for a
// row that only the shadow has, before, between or after the rows of the table.
func TestComparedRanges(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		exec := func(statement string, args ...any) {
			t.Helper()
			if err := db.Exec(fmt.Sprintf(statement, args...)).Error; err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"numbers", "_numbers_sfnew"} {
			exec("CREATE TABLE %s (id bigint PRIMARY KEY, v varchar(20))", table)
			exec("INSERT INTO %s VALUES (-9223372036854775808, 'lowest'), (1, 'a'), (2, NULL), (3, 'c'), (5, 'e'), (7, 'g'), (9223372036854775807, 'highest')", table)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		session, err := mysql.OpenSession(t.Context(), conn, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Restore(context.Background()) //nolint:errcheck // the connection is closed
		step := myonline.CompareStep(&mycatalog.Table{
			TableName: plan.TableName{Name: "numbers"},
			Columns: []*mycatalog.Column{
				{Name: "id", Type: "bigint(20)", Primary: true, Definition: "`id` bigint(20) NOT NULL"},
				{Name: "v", Type: "varchar(20)", Definition: "`v` varchar(20) DEFAULT NULL"},
			},
			Elements: []string{"PRIMARY KEY (`id`)"},
		})
		step.SQL[0] = "SELECT 7"                        // rows that differ
		step.Rows, step.Bytes = 1, mysql.LongestText/32 // a row of this length gives ranges of two rows
		compare := func(name string, want bool) {
			t.Helper()
			if err := myonline.Compare(t.Context(), conn, &step); (err == nil) != want {
				t.Errorf("%s: error = %v, want one: %v", name, err, !want)
			}
		}
		compare("equal", true)
		for _, id := range []int64{-9223372036854775808, 1, 2, 3, 5, 7, 9223372036854775807} {
			exec("UPDATE _numbers_sfnew SET v = 'other' WHERE id = %d", id)
			compare(fmt.Sprint("another value in row ", id), false)
			exec("DELETE FROM _numbers_sfnew WHERE id = %d", id)
			compare(fmt.Sprint("no row ", id), false)
			exec("INSERT INTO _numbers_sfnew SELECT * FROM numbers WHERE id = %d", id)
		}
		for _, id := range []int64{-9223372036854775807, 0, 4, 6, 8, 9223372036854775806} {
			exec("INSERT INTO _numbers_sfnew VALUES (%d, 'more')", id)
			compare(fmt.Sprint("one more row ", id), false)
			exec("DELETE FROM _numbers_sfnew WHERE id = %d", id)
		}
		compare("equal again", true)
		if _, err := conn.ExecContext(t.Context(), "SET SESSION group_concat_max_len = 4"); err != nil {
			t.Fatal(err)
		}
		compare("cut", false)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := myonline.Compare(ended, conn, &step); err == nil {
			t.Error("no error after the end of the context")
		}
	})
}
