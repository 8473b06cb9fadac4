package doctor_test

import (
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// On MySQL, a comparison of a text column with an ID as a number also finds the rows of the
// IDs next to it. So doctor reports text columns that hold IDs. On MariaDB, the comparison
// finds only the row of the ID, and doctor reports nothing. The test checks both claims on the
// servers.
func TestDoctorIDsInText(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MySQL, testdb.MariaDB} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t, target)
			db := clitest.Open(t, url)
			clitest.Execute(t, db,
				"CREATE TABLE notes (id varchar(32) PRIMARY KEY, parent_id text, title varchar(20), amount varchar(20))",
				"INSERT INTO notes VALUES ('2124189853926044565', '2124189853926044566', 'a', '12'), ('2124189853926044566', NULL, '', '2124189853926044565'), ('2124189853926044567', NULL, '2', '14')")
			var n int
			if err := db.Raw("SELECT count(*) FROM notes WHERE id = ?", 2124189853926044565).Scan(&n).Error; err != nil {
				t.Fatal(err)
			}
			d := diagnose(t, url)
			if target == testdb.MariaDB {
				if d.wantCounts(t, 0, 0); n != 1 {
					t.Errorf("MariaDB finds %d rows, and doctor does not look", n)
				}
				return
			}
			if n != 3 {
				t.Errorf("MySQL finds %d rows, want 3, the neighbours too", n)
			}
			d.wantCounts(t, 0, 2)
			d.wantFinding(t, "warning", "columns", "notes.id", "it is varchar(32), and of a sample of 3, 3 are Snowflake IDs: MySQL compares", "ALTER TABLE `notes` MODIFY `id` BIGINT NOT NULL; or compare it with strings alone")
			d.wantFinding(t, "warning", "columns", "notes.parent_id", "it is text, and of a sample of 1, 1 is a Snowflake ID", "ALTER TABLE `notes` MODIFY `parent_id` BIGINT; or")
			diagnose(t, url, "--skip", "notes").wantCounts(t, 0, 0)
		})
	}
}
