package plugintest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type catalog struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public  types.ID `snowflake:"id"`
	Title   string
	Year    int
	Entries []entry
}

type entry struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	CatalogID types.ID
	Sku       string
	Amount    int
}

func TestSelect(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &catalog{}, &entry{})
		selected := catalog{Title: "a", Year: 1999}
		Must(t, db.Select("Title").Create(&selected))
		withKey := catalog{ID: Preset, Title: "b"}
		Must(t, db.Select("Title").Create(&withKey))
		generic := catalog{Title: "c"}
		if err := gorm.G[catalog](db).Select("title").Create(context.Background(), &generic); err != nil {
			t.Fatal(err)
		}
		asMap := map[string]any{"title": "d", "year": 7}
		Must(t, db.Model(&catalog{}).Select("title").Create(asMap))

		var rows []catalog
		Must(t, db.Order("title").Find(&rows))
		selected.Year, withKey.Year = 0, 0
		for i, want := range []catalog{selected, withKey, generic, {ID: KeyOf(asMap["id"]), Public: KeyOf(asMap["public"]), Title: "d"}} {
			if rows[i].ID != want.ID || rows[i].Public != want.Public || rows[i].Title != want.Title || rows[i].ID == 0 || rows[i].Public == 0 {
				t.Errorf("row = %+v, want %+v", rows[i], want)
			}
			if rows[i].Year != 0 {
				t.Errorf("row %d: a column was written that is not selected", i)
			}
		}
		if withKey.ID != Preset {
			t.Errorf("the caller's key became %d", withKey.ID)
		}
	})
}

func TestNestedSelect(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &catalog{}, &entry{})
		c := catalog{Title: "a", Entries: []entry{{Sku: "x", Amount: 3}, {Sku: "y", Amount: 4}}}
		Must(t, db.Select("Title", "Entries", "Entries.Sku", "Entries.CatalogID").Create(&c))
		var entries []entry
		Must(t, db.Order("sku").Find(&entries))
		if len(entries) != 2 || entries[0].ID != c.Entries[0].ID || entries[1].ID != c.Entries[1].ID || entries[0].ID == 0 {
			t.Fatalf("rows = %+v, structs %+v", entries, c.Entries)
		}
		if entries[0].CatalogID != c.ID || entries[0].Amount != 0 {
			t.Errorf("row = %+v", entries[0])
		}
	})
}

// A column that the caller omits is left to the database.
func TestOmit(t *testing.T) {
	t.Parallel()
	type defaulted struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Public types.ID `gorm:"default:42" snowflake:"id"`
		Title  string
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &defaulted{})
		rows := []defaulted{{Title: "a"}, {Title: "b"}}
		Must(t, db.Omit("Public").Create(&rows))
		asMap := map[string]any{"title": "c"}
		Must(t, db.Model(&defaulted{}).Omit("public").Create(asMap))
		for _, id := range []types.ID{rows[0].ID, rows[1].ID, KeyOf(asMap["id"])} {
			var stored defaulted
			Must(t, db.First(&stored, id))
			if stored.Public != 42 {
				t.Errorf("row = %+v, want the default in Public", stored)
			}
		}
	})
}

func TestOmitKey(t *testing.T) {
	t.Parallel()
	db := Dry(t, gormflake.New(&Counter{}))
	c := catalog{Title: "a"}
	tx := db.Omit("ID", "Entries").Create(&c)
	Must(t, tx)
	if c.ID != 0 || c.Public == 0 {
		t.Errorf("struct = %+v", c)
	}
	// GORM itself leaves the column out.
	if sql := tx.Statement.SQL.String(); strings.Contains(sql, "`id`") {
		t.Errorf("sql = %s", sql)
	}
}

// Sessions share the array behind Select; adding the key must not write to it.
func TestSelectSharedByGoroutines(t *testing.T) {
	t.Parallel()
	columns := append(make([]string, 0, 8), "Title", "Year")
	session := Dry(t, gormflake.New(&Counter{})).Select(columns[:1], "Year").Session(&gorm.Session{})
	session.Statement.Selects = columns
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := session.Create(&catalog{Title: "a"}).Error; err != nil {
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

func TestSkip(t *testing.T) {
	t.Parallel()
	gen := &Counter{}
	db := Dry(t, gormflake.New(gen)).WithContext(gormflake.Skip(t.Context()))
	c := catalog{Title: "a", Entries: []entry{{Sku: "x"}}}
	Must(t, db.Create(&c))
	asMap := map[string]any{"title": "a"}
	Must(t, db.Model(&catalog{}).Create(asMap))
	if _, filled := asMap["id"]; gen.Calls != 0 || c.ID != 0 || c.Entries[0].ID != 0 || filled {
		t.Errorf("struct = %+v, map = %v, %d calls", c, asMap, gen.Calls)
	}
}
