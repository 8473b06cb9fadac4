package fill_test

import (
	"context"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestSelect checks that a create that selects some columns also writes the tagged
// columns, and no other column.
func TestSelect(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Catalog{}, &plugintest.Entry{})
		selected := plugintest.Catalog{Title: "a", Year: 1999}
		plugintest.Must(t, db.Select("Title").Create(&selected))
		withKey := plugintest.Catalog{ID: plugintest.Preset, Title: "b"}
		plugintest.Must(t, db.Select("Title").Create(&withKey))
		generic := plugintest.Catalog{Title: "c"}
		if err := gorm.G[plugintest.Catalog](db).Select("title").Create(context.Background(), &generic); err != nil {
			t.Fatal(err)
		}
		asMap := map[string]any{"title": "d", "year": 7}
		plugintest.Must(t, db.Model(&plugintest.Catalog{}).Select("title").Create(asMap))

		var rows []plugintest.Catalog
		plugintest.Must(t, db.Order("title").Find(&rows))
		selected.Year, withKey.Year = 0, 0
		for i, want := range []plugintest.Catalog{selected, withKey, generic, {ID: plugintest.KeyOf(asMap["id"]), Public: plugintest.KeyOf(asMap["public"]), Title: "d"}} {
			if rows[i].ID != want.ID || rows[i].Public != want.Public || rows[i].Title != want.Title || rows[i].ID == 0 || rows[i].Public == 0 {
				t.Errorf("row = %+v, want %+v", rows[i], want)
			}
			if rows[i].Year != 0 {
				t.Errorf("row %d: a column was written that is not selected", i)
			}
		}
		if withKey.ID != plugintest.Preset {
			t.Errorf("the caller's key became %d", withKey.ID)
		}
	})
}

// TestNestedSelect checks that related rows have their keys if Select names some of their
// columns.
func TestNestedSelect(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Catalog{}, &plugintest.Entry{})
		c := plugintest.Catalog{Title: "a", Entries: []plugintest.Entry{{Sku: "x", Amount: 3}, {Sku: "y", Amount: 4}}}
		plugintest.Must(t, db.Select("Title", "Entries", "Entries.Sku", "Entries.CatalogID").Create(&c))
		var entries []plugintest.Entry
		plugintest.Must(t, db.Order("sku").Find(&entries))
		if len(entries) != 2 || entries[0].ID != c.Entries[0].ID || entries[1].ID != c.Entries[1].ID || entries[0].ID == 0 {
			t.Fatalf("rows = %+v, structs %+v", entries, c.Entries)
		}
		if entries[0].CatalogID != c.ID || entries[0].Amount != 0 {
			t.Errorf("row = %+v", entries[0])
		}
	})
}

// TestOmit checks that the database sets a column that the caller omits.
func TestOmit(t *testing.T) {
	t.Parallel()
	type defaulted struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Public types.ID `gorm:"default:42" snowflake:"id"`
		Title  string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &defaulted{})
		rows := []defaulted{{Title: "a"}, {Title: "b"}}
		plugintest.Must(t, db.Omit("Public").Create(&rows))
		asMap := map[string]any{"title": "c"}
		plugintest.Must(t, db.Model(&defaulted{}).Omit("public").Create(asMap))
		for _, id := range []types.ID{rows[0].ID, rows[1].ID, plugintest.KeyOf(asMap["id"])} {
			var stored defaulted
			plugintest.Must(t, db.First(&stored, id))
			if stored.Public != 42 {
				t.Errorf("row = %+v, want the default in Public", stored)
			}
		}
	})
}

// TestSelectSharedByGoroutines checks that adding the key does not write to the array
// behind Select, because sessions share it.
func TestSelectSharedByGoroutines(t *testing.T) {
	t.Parallel()
	// The array has room for more columns, so that an append would write to it.
	columns := append(make([]string, 0, 8), "Title", "Year")
	session := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Select(columns[:1], "Year").Session(&gorm.Session{})
	session.Statement.Selects = columns
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := session.Create(&plugintest.Catalog{Title: "a"}).Error; err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if full := columns[:cap(columns)]; full[2] != "" {
		t.Errorf("the shared array was written: %q", full)
	}
}

// TestSkip checks that under Skip neither rows nor related rows nor maps get keys.
func TestSkip(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{}
	db := plugintest.Dry(t, gormflake.New(gen)).WithContext(gormflake.Skip(t.Context()))
	c := plugintest.Catalog{Title: "a", Entries: []plugintest.Entry{{Sku: "x"}}}
	plugintest.Must(t, db.Create(&c))
	asMap := map[string]any{"title": "a"}
	plugintest.Must(t, db.Model(&plugintest.Catalog{}).Create(asMap))
	if _, filled := asMap["id"]; gen.Calls != 0 || c.ID != 0 || c.Entries[0].ID != 0 || filled {
		t.Errorf("struct = %+v, map = %v, %d calls", c, asMap, gen.Calls)
	}
}
