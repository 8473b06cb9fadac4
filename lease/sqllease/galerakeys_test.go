package sqllease_test

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/types"
)

// A guessedRow gets its key from AUTO_INCREMENT, and an ownRow from gormflake.
type (
	guessedRow struct {
		ID   int64
		Name string
	}
	ownRow struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
)

func (guessedRow) TableName() string { return "guessed" }
func (ownRow) TableName() string     { return "own" }

// batchKeys creates batches of rows on each node, and checks the keys that GORM then has
// for them. Without RETURNING, GORM derives the keys of a batch from its first key. The
// nodes of a Galera cluster use every third number, so that GORM's further keys are wrong,
// while gormflake's keys are right.
func batchKeys(nodes []*testserver.Server) func(t *testing.T) {
	return func(t *testing.T) {
		var wrong, anothers, ownWrong int // GORM's wrong keys, those of another row among them, and gormflake's wrong keys
		for _, node := range nodes {
			db := withoutReturning(t, node)
			guessed, own := make([]guessedRow, 300), make([]ownRow, 300)
			for i := range guessed {
				guessed[i].Name = fmt.Sprintf("%s %d", node.Address(), i)
				own[i].Name = guessed[i].Name
			}
			for _, rows := range []any{guessed, own} {
				if err := db.CreateInBatches(rows, 100).Error; err != nil {
					t.Fatal(err)
				}
			}
			names := namesByKey(t, db, "guessed")
			for _, row := range guessed {
				if name, exists := names[row.ID]; name != row.Name {
					wrong++
					if exists {
						anothers++
					}
				}
			}
			names = namesByKey(t, db, "own")
			for _, row := range own {
				if names[row.ID.Int64()] != row.Name {
					ownWrong++
				}
			}
		}
		t.Logf("of 900 rows, GORM's key is wrong in %d, and another row's in %d of these; gormflake's in %d", wrong, anothers, ownWrong)
		if ownWrong > 0 {
			t.Errorf("%d keys of gormflake are wrong", ownWrong)
		}
		if wrong == 0 {
			t.Error("GORM has guessed all keys: want the fault that this test compares with")
		}
	}
}

// withoutReturning opens the node for GORM and gormflake without RETURNING, as on MySQL,
// which lacks it.
func withoutReturning(t *testing.T, node *testserver.Server) *gorm.DB {
	t.Helper()
	db := galeraDB(t, node)
	db = open(t, mysql.New(mysql.Config{Conn: poolOf(t, db), DisableWithReturning: true}))
	if err := db.AutoMigrate(&guessedRow{}, &ownRow{}); err != nil {
		t.Fatal(err)
	}
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return db
}

// namesByKey returns the name of each row of the table, by its key.
func namesByKey(t *testing.T, db *gorm.DB, table string) map[int64]string {
	t.Helper()
	var rows []guessedRow
	if err := db.Table(table).Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	names := map[int64]string{}
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names
}
