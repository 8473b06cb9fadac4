package check_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// warnings records the warnings that are logged.
type warnings struct {
	logger.Interface
	texts *[]string
}

func (w warnings) Warn(_ context.Context, format string, args ...any) {
	*w.texts = append(*w.texts, fmt.Sprintf(format, args...))
}

// TestCheckWarnsOfRowids checks that Check warns of a SQLite table that assigns a key to a
// row without one, and of no other table. The trigger in the warning must make the table
// reject such a row, and end the warning.
func TestCheckWarnsOfRowids(t *testing.T) {
	t.Parallel()
	type note struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Text string
	}
	type plain struct {
		Code string   `gorm:"primaryKey"`
		Ref  types.ID `snowflake:"id"`
	}
	type composite struct { // SQLite assigns no part of such a key
		Tenant int64    `gorm:"primaryKey;autoIncrement:false"`
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		var texts []string
		db = db.Session(&gorm.Session{Logger: warnings{logger.Discard, &texts}})
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		check := func() []string {
			t.Helper()
			texts = nil
			if err := gormflake.Check(db, &note{}, &plain{}, &composite{}); err != nil {
				t.Fatal(err)
			}
			return texts
		}
		if got := check(); len(got) != 0 {
			t.Errorf("without a table, Check warns: %q", got)
		}
		plugintest.Migrate(t, db, &note{}, &plain{}, &composite{})
		insert := func() error { return db.Exec("INSERT INTO notes (text) VALUES ('x')").Error }
		if db.Name() != "sqlite" {
			if got := check(); len(got) != 0 {
				t.Errorf("Check warns: %q", got)
			}
			if err := insert(); err == nil {
				t.Error("the table takes a row without a key")
			}
			return
		}
		got := check()
		if len(got) != 1 || !strings.HasPrefix(got[0], "gormflake: table notes assigns a key to a row that is inserted without one") {
			t.Fatalf("Check warns %q, want one of table notes", got)
		}
		if err := insert(); err != nil {
			t.Error(err)
		}
		_, trigger, _ := strings.Cut(got[0], "refuse them: ")
		plugintest.Must(t, db.Exec(trigger))
		if got := check(); len(got) != 0 {
			t.Errorf("with the trigger, Check warns: %q", got)
		}
		if err := insert(); err == nil || !strings.Contains(err.Error(), "key id is missing or not positive") {
			t.Errorf("the table takes a row without a key: %v", err)
		}
		if err := db.Create(&[]note{{}, {ID: 5}}).Error; err != nil {
			t.Error(err)
		}
	})
}
