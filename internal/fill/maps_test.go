package fill_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestMapKeyNames checks that the plugin finds a key under each name that GORM accepts,
// and adds no second name to the map.
func TestMapKeyNames(t *testing.T) {
	t.Parallel()
	type named struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Public types.ID `gorm:"column:other_name" snowflake:"id"`
		Title  string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &named{})
		for i, key := range []string{"id", "ID", "Id"} {
			m := map[string]any{key: 100 + i, "title": key, "Public": types.ID(0)}
			plugintest.Must(t, db.Model(&named{}).Create(m))
			if len(m) != 3 || m[key] != 100+i || m["Public"] == types.ID(0) {
				t.Errorf("map = %v", m)
			}
			if got := plugintest.Stored(t, db, "nameds")[key]; got != types.ID(100+i) {
				t.Errorf("%s: row has key %d", key, got)
			}
		}
	})
}

// TestMapZeros checks that each value that is stored as NULL or 0 counts as unset.
func TestMapZeros(t *testing.T) {
	t.Parallel()
	var nilID *types.ID
	zero := int64(0)
	for name, unset := range map[string]any{
		"nil": nil, "zero": 0, "ID": types.ID(0), "typed ID": plugintest.BookID(0), "nil pointer": nilID, "pointer": &zero, "NULL": sql.NullInt64{}, "text": "",
		"valid zero": sql.NullInt64{Valid: true}, "NULL with a number": sql.NullInt64{Int64: 5}, "bytes": []byte{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
			m := map[string]any{"ID": unset, "title": "a"}
			tx := db.Model(&plugintest.Book{}).Create(&m)
			plugintest.Must(t, tx)
			if m["ID"] != types.ID(1001) || len(m) != 2 || strings.Count(tx.Statement.SQL.String(), "`id`") != 1 {
				t.Errorf("map = %v, sql = %s", m, tx.Statement.SQL.String())
			}
		})
	}
}

// TestMapNamesKeyTwice checks maps that hold the key under two names, such as ID and Id. The
// plugin always fills the same one of the two names. The create is an error if the value under
// the other name is 0, because the database may take either value.
func TestMapNamesKeyTwice(t *testing.T) {
	t.Parallel()
	for range 100 {
		db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
		rows := []map[string]any{{"ID": 0, "Id": 5}, {"ID": 5, "Id": 6}, {"id": 0, "ID": 5}}
		plugintest.Must(t, db.Model(&plugintest.Book{}).Create(rows))
		if got, want := fmt.Sprint(rows), "[map[ID:1001 Id:5] map[ID:5 Id:6] map[ID:5 id:1002]]"; got != want {
			t.Fatalf("maps = %s, want %s", got, want)
		}
		twice := map[string]any{"ID": 5, "Id": 0}
		err := db.Model(&plugintest.Book{}).Create(twice).Error
		if want := plugintest.Unset("Book", "ID", plugintest.ByMap); err == nil || err.Error() != want || fmt.Sprint(twice) != "map[ID:5 Id:0]" {
			t.Fatalf("err = %v, map = %v, want %s", err, twice, want)
		}
	}
}

// TestMapsFillOnce checks that the generator is called once for a slice of maps, and that
// each map without a key gets one, whichever of the three maps has a key already.
func TestMapsFillOnce(t *testing.T) {
	t.Parallel()
	for _, keyed := range []int{0, 1, 2} {
		gen := &plugintest.Counter{}
		db := plugintest.Dry(t, gormflake.New(gen))
		maps := []map[string]any{{"title": "a"}, {"title": "b"}, {"title": "c"}}
		maps[keyed]["id"] = types.ID(5)
		plugintest.Must(t, db.Model(&plugintest.Book{}).Create(&maps))
		got := []any{maps[0]["id"], maps[1]["id"], maps[2]["id"]}
		want := slices.Insert([]any{types.ID(1001), types.ID(1002)}, keyed, any(types.ID(5)))
		if gen.Calls != 1 || len(maps) != 3 || !slices.Equal(got, want) {
			t.Errorf("maps = %v, %d calls, want keys %v by 1", maps, gen.Calls, want)
		}
	}
}

// TestNilMap checks the error for a nil map, into which the plugin cannot write a key.
func TestNilMap(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	for _, value := range []any{map[string]any(nil), []map[string]any{{}, nil}} {
		err := db.Model(&plugintest.Book{}).Create(value).Error
		if want := "gormflake: model Book: the map is nil and cannot hold a key: create it with make first"; err == nil || err.Error() != want {
			t.Errorf("err = %v, want %s", err, want)
		}
	}
}

// TestTextKeyInMapIsText checks that the plugin writes a string into a map if the key's
// column is of type string.
func TestTextKeyInMapIsText(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	m := map[string]any{"title": "a"}
	plugintest.Must(t, db.Model(&plugintest.TextKeyBook{}).Create(m))
	if m["id"] != "1001" {
		t.Errorf("map = %v", m)
	}
}
