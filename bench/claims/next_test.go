package claims_test

import (
	"testing"

	"github.com/invzhi/next"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// ticket gets its key from the plugin next, and reads the key in a hook.
type ticket struct {
	ID     int64 `gorm:"primaryKey;autoIncrement:false;next:key"`
	Title  string
	InHook int64 `gorm:"-"`
}

// BeforeCreate records the key that the hook sees.
func (t *ticket) BeforeCreate(*gorm.DB) error {
	t.InHook = t.ID
	return nil
}

// ticketsBy returns a database whose tickets the plugin numbers from 1001 on, and a
// counter of the plugin's calls for a key.
func ticketsBy(t *testing.T) (db *gorm.DB, calls *int64) {
	t.Helper()
	calls = new(int64)
	plugin := next.NewPlugin()
	plugin.Register("key", func(_, zero bool) (any, error) {
		if !zero {
			return nil, next.SkipField
		}
		*calls++
		return 1000 + *calls, nil
	})
	db = testdb.Open(t, testdb.SQLite)
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&ticket{}); err != nil {
		t.Fatal(err)
	}
	return db, calls
}

// The plugin calls its function for each row without a key, and keeps the keys that are set.
func TestNextFillsRowsAndSlices(t *testing.T) {
	t.Parallel()
	db, calls := ticketsBy(t)
	one, more := ticket{ID: 7}, []ticket{{}, {}, {}}
	if err := db.Create(&one).Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&more).Error; err != nil {
		t.Fatal(err)
	}
	if one.ID != 7 || more[0].ID != 1001 || more[2].ID != 1003 || *calls != 3 {
		t.Errorf("%+v, %+v, %d calls, want the key that was set, and one call for each other", one, more, *calls)
	}
}

// The plugin sets no key of a row that is a map.
func TestNextDoesNotFillMaps(t *testing.T) {
	t.Parallel()
	db, calls := ticketsBy(t)
	if err := db.Model(&ticket{}).Create(map[string]any{"title": "a"}).Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Model(&ticket{}).Create([]map[string]any{{"title": "b"}, {"title": "c"}}).Error; err != nil {
		t.Fatal(err)
	}
	if *calls != 0 {
		t.Errorf("%d calls, want none", *calls)
	}
}

// A hook BeforeCreate does not see the key, because the plugin sets it afterwards.
func TestNextFillsAfterTheHooks(t *testing.T) {
	t.Parallel()
	db, _ := ticketsBy(t)
	var row ticket
	if err := db.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	if row.InHook != 0 || row.ID == 0 {
		t.Errorf("%+v, want a key that the hook has not seen", row)
	}
}
