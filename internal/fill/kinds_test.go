package fill_test

import (
	"database/sql"
	"reflect"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestKinds checks that fields of each type that can hold an ID get keys, and that the
// row has the keys of the struct.
func TestKinds(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Kinds{})
		rows := make([]plugintest.Kinds, 3)
		plugintest.Must(t, db.Create(&rows))
		seen := map[string]bool{}
		for i := range rows {
			var stored plugintest.Kinds
			plugintest.Must(t, db.First(&stored, rows[i].ID))
			got, want := stored.Values(t), rows[i].Values(t)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("row has %v, struct %v", got, want)
			}
			for _, key := range want {
				if key == "" || key == "0" || seen[key] {
					t.Errorf("key %q is unset or repeats", key)
				}
				seen[key] = true
			}
		}
	})
}

// TestKindsKeepKeys checks that a field of each type keeps a key that the caller has set.
func TestKindsKeepKeys(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{}
	db := plugintest.Dry(t, gormflake.New(gen))
	id, number, unsigned, text, named, typed := types.ID(2), int64(4), uint64(6), "8", plugintest.NamedInt(15), plugintest.BookID(19)
	row := plugintest.Kinds{
		ID: 1, PtrID: &id, Int64: 3, PtrInt64: &number, Uint64: 1<<64 - 1, PtrUint64: &unsigned, Text: "seven", PtrText: &text,
		NullInt: sql.NullInt64{Int64: 9, Valid: true}, NullID: sql.Null[types.ID]{V: 10, Valid: true},
		NullText: sql.NullString{String: "11", Valid: true}, Named: -12, NamedUint: 13, NamedText: "14", PtrNamed: &named,
		Renamed: 16, WriteOnce: 17, Typed: 18, PtrTyped: &typed, NullTyped: sql.Null[plugintest.BookID]{V: 20, Valid: true},
	}
	before := strings.Join(row.Values(t), " ")
	plugintest.Must(t, db.Create(&row))
	if after := strings.Join(row.Values(t), " "); after != before || gen.Calls != 0 {
		t.Errorf("keys = %s, want %s; %d calls of the generator", after, before, gen.Calls)
	}
}

// TestSharedPointerToZero checks that rows that share a pointer to zero get different
// keys.
func TestSharedPointerToZero(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(&plugintest.Counter{}))
	type row struct {
		ID     types.ID  `gorm:"primaryKey" snowflake:"pk"`
		Public *types.ID `snowflake:"id"`
	}
	zero := types.ID(0)
	rows := []row{{Public: &zero}, {Public: &zero}}
	plugintest.Must(t, db.Create(&rows))
	if zero != 0 || *rows[0].Public == *rows[1].Public || *rows[0].Public == 0 {
		t.Errorf("keys = %d, %d; the caller's zero is %d", *rows[0].Public, *rows[1].Public, zero)
	}
}

type (
	// Outer is exported, because reflection cannot set an embedded pointer to an unexported
	// struct.
	Outer struct {
		*plugintest.Inner
	}
)

// TestEmbedded checks that keys in embedded structs are set. If the struct is behind a nil
// pointer, the plugin allocates it.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	type (
		anonymous struct {
			plugintest.Inner
			Title string
		}
		pointer struct {
			*plugintest.Inner
			Title string
		}
		deep struct {
			*Outer
			Title string
		}
		named struct {
			Key   plugintest.Inner `gorm:"embedded"`
			Title string
		}
		prefixed struct {
			Key   *plugintest.Inner `gorm:"embedded;embeddedPrefix:key_"`
			Title string
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, test := range []struct {
			name, column string
			row          any
			key          func(row any) types.ID
		}{
			{"anonymous", "id", &anonymous{}, func(row any) types.ID { return row.(*anonymous).ID }},
			{"pointer", "id", &pointer{}, func(row any) types.ID { return row.(*pointer).ID }},
			{"deep", "id", &deep{}, func(row any) types.ID { return row.(*deep).ID }},
			{"named", "id", &named{}, func(row any) types.ID { return row.(*named).Key.ID }},
			{"prefixed", "key_id", &prefixed{}, func(row any) types.ID { return row.(*prefixed).Key.ID }},
		} {
			t.Run(test.name, func(t *testing.T) {
				plugintest.Migrate(t, db, test.row)
				plugintest.Must(t, db.Create(test.row))
				var stored types.ID
				plugintest.Must(t, db.Model(test.row).Select(test.column).Scan(&stored))
				if stored == 0 || stored != test.key(test.row) {
					t.Errorf("row has key %d, struct %d", stored, test.key(test.row))
				}
			})
		}
	})
}

// TestCompositeKey checks that each tagged column of a composite primary key gets an ID,
// and that an untagged column keeps its value.
func TestCompositeKey(t *testing.T) {
	t.Parallel()
	type tenantRow struct {
		TenantID types.ID `gorm:"primaryKey"`
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		Title    string
	}
	type allTagged struct {
		Left  types.ID `gorm:"primaryKey" snowflake:"pk"`
		Right types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &tenantRow{}, &allTagged{})
		rows := []tenantRow{{TenantID: 1}, {TenantID: 1}, {TenantID: 2}}
		plugintest.Must(t, db.Create(&rows))
		pair := allTagged{}
		plugintest.Must(t, db.Create(&pair))
		var stored tenantRow
		plugintest.Must(t, db.Where("tenant_id = 2").First(&stored))
		if stored.ID == 0 || stored != rows[2] || rows[0].ID == rows[1].ID {
			t.Errorf("row = %+v, structs %+v", stored, rows)
		}
		if pair.Left == 0 || pair.Right == 0 || pair.Left == pair.Right {
			t.Errorf("pair = %+v", pair)
		}
	})
}

// TestSoftDelete checks that a row with a key of the plugin can be deleted softly.
func TestSoftDelete(t *testing.T) {
	t.Parallel()
	type gone struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Deleted gorm.DeletedAt
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &gone{})
		row := gone{}
		plugintest.Must(t, db.Create(&row))
		plugintest.Must(t, db.Delete(&row))
		var stored gone
		plugintest.Must(t, db.Unscoped().First(&stored, row.ID))
		if !stored.Deleted.Valid || plugintest.Count(t, db, &gone{}) != 0 {
			t.Errorf("row = %+v", stored)
		}
	})
}

// TestShadowedGormModel checks that a tagged field takes precedence over the uint key of
// an embedded gorm.Model.
func TestShadowedGormModel(t *testing.T) {
	t.Parallel()
	type modern struct {
		gorm.Model
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Title string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &modern{})
		rows := []modern{{Title: "a"}, {Title: "b"}}
		plugintest.Must(t, db.Create(&rows))
		if stored := plugintest.Stored(t, db, "moderns"); stored["a"] != rows[0].ID || stored["b"] != rows[1].ID || rows[0].ID == 0 {
			t.Errorf("rows = %v, structs %+v", stored, rows)
		}
	})
}
