package plugintest

import (
	"database/sql"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type (
	namedInt  int64
	namedUint uint64
	namedText string
	bookID    = types.Of[Book]
)

// kinds has one field of every type that can hold an ID.
type kinds struct {
	ID        types.ID           `gorm:"primaryKey" snowflake:"pk"`
	PtrID     *types.ID          `snowflake:"id"`
	Int64     int64              `snowflake:"id"`
	PtrInt64  *int64             `snowflake:"id"`
	Uint64    uint64             `snowflake:"id"`
	PtrUint64 *uint64            `snowflake:"id"`
	Text      string             `gorm:"size:20" snowflake:"id"`
	PtrText   *string            `gorm:"size:20" snowflake:"id"`
	NullInt   sql.NullInt64      `snowflake:"id"`
	NullID    sql.Null[types.ID] `snowflake:"id"`
	NullText  sql.NullString     `gorm:"size:20" snowflake:"id"`
	Named     namedInt           `snowflake:"id"`
	NamedUint namedUint          `snowflake:"id"`
	NamedText namedText          `gorm:"size:20" snowflake:"id"`
	PtrNamed  *namedInt          `snowflake:"id"`
	Renamed   types.ID           `gorm:"column:other_name" snowflake:"id"`
	WriteOnce types.ID           `gorm:"<-:create" snowflake:"id"`
	Typed     bookID             `snowflake:"id"`
	PtrTyped  *bookID            `snowflake:"id"`
	NullTyped sql.Null[bookID]   `snowflake:"id"`
}

// values lists the keys of a row as text, in the order of the fields.
func (k *kinds) values(t *testing.T) []string {
	t.Helper()
	var texts []string
	v := reflect.ValueOf(k).Elem()
	for i := range v.NumField() {
		f := reflect.Indirect(v.Field(i))
		if !f.IsValid() {
			t.Fatalf("%s is nil", v.Type().Field(i).Name)
		}
		if f.Kind() == reflect.Struct {
			if !f.Field(1).Bool() {
				t.Fatalf("%s is NULL", v.Type().Field(i).Name)
			}
			f = f.Field(0)
		}
		switch {
		case f.CanInt():
			texts = append(texts, strconv.FormatInt(f.Int(), 10))
		case f.CanUint():
			texts = append(texts, strconv.FormatUint(f.Uint(), 10))
		default:
			texts = append(texts, f.String())
		}
	}
	return texts
}

func TestKinds(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &kinds{})
		rows := make([]kinds, 3)
		Must(t, db.Create(&rows))
		seen := map[string]bool{}
		for i := range rows {
			var stored kinds
			Must(t, db.First(&stored, rows[i].ID))
			got, want := stored.values(t), rows[i].values(t)
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

func TestKindsKeepKeys(t *testing.T) {
	t.Parallel()
	gen := &Counter{}
	db := Dry(t, gormflake.New(gen))
	id, number, unsigned, text, named, typed := types.ID(2), int64(4), uint64(6), "8", namedInt(15), bookID(19)
	row := kinds{
		ID: 1, PtrID: &id, Int64: 3, PtrInt64: &number, Uint64: 1<<64 - 1, PtrUint64: &unsigned, Text: "seven", PtrText: &text,
		NullInt: sql.NullInt64{Int64: 9, Valid: true}, NullID: sql.Null[types.ID]{V: 10, Valid: true},
		NullText: sql.NullString{String: "11", Valid: true}, Named: -12, NamedUint: 13, NamedText: "14", PtrNamed: &named,
		Renamed: 16, WriteOnce: 17, Typed: 18, PtrTyped: &typed, NullTyped: sql.Null[bookID]{V: 20, Valid: true},
	}
	before := strings.Join(row.values(t), " ")
	Must(t, db.Create(&row))
	if after := strings.Join(row.values(t), " "); after != before || gen.Calls != 0 {
		t.Errorf("keys = %s, want %s; %d calls of the generator", after, before, gen.Calls)
	}
}

// Several rows may share one pointer to zero; each needs its own key.
func TestSharedPointerToZero(t *testing.T) {
	t.Parallel()
	db := Dry(t, gormflake.New(&Counter{}))
	type row struct {
		ID     types.ID  `gorm:"primaryKey" snowflake:"pk"`
		Public *types.ID `snowflake:"id"`
	}
	zero := types.ID(0)
	rows := []row{{Public: &zero}, {Public: &zero}}
	Must(t, db.Create(&rows))
	if zero != 0 || *rows[0].Public == *rows[1].Public || *rows[0].Public == 0 {
		t.Errorf("keys = %d, %d; the caller's zero is %d", *rows[0].Public, *rows[1].Public, zero)
	}
}

type (
	// Inner and Outer are exported because GORM requires it of embedded pointers.
	Inner struct {
		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	Outer struct {
		*Inner
	}
)

func TestEmbedded(t *testing.T) {
	t.Parallel()
	type (
		anonymous struct {
			Inner
			Title string
		}
		pointer struct {
			*Inner
			Title string
		}
		deep struct {
			*Outer
			Title string
		}
		named struct {
			Key   Inner `gorm:"embedded"`
			Title string
		}
		prefixed struct {
			Key   *Inner `gorm:"embedded;embeddedPrefix:key_"`
			Title string
		}
	)
	Each(t, func(t *testing.T, db *gorm.DB) {
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
				Migrate(t, db, test.row)
				Must(t, db.Create(test.row))
				var stored types.ID
				Must(t, db.Model(test.row).Select(test.column).Scan(&stored))
				if stored == 0 || stored != test.key(test.row) {
					t.Errorf("row has key %d, struct %d", stored, test.key(test.row))
				}
			})
		}
	})
}

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
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &tenantRow{}, &allTagged{})
		rows := []tenantRow{{TenantID: 1}, {TenantID: 1}, {TenantID: 2}}
		Must(t, db.Create(&rows))
		pair := allTagged{}
		Must(t, db.Create(&pair))
		var stored tenantRow
		Must(t, db.Where("tenant_id = 2").First(&stored))
		if stored.ID == 0 || stored != rows[2] || rows[0].ID == rows[1].ID {
			t.Errorf("row = %+v, structs %+v", stored, rows)
		}
		if pair.Left == 0 || pair.Right == 0 || pair.Left == pair.Right {
			t.Errorf("pair = %+v", pair)
		}
	})
}

func TestSoftDelete(t *testing.T) {
	t.Parallel()
	type gone struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Deleted gorm.DeletedAt
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &gone{})
		row := gone{}
		Must(t, db.Create(&row))
		Must(t, db.Delete(&row))
		var stored gone
		Must(t, db.Unscoped().First(&stored, row.ID))
		if !stored.Deleted.Valid || Count(t, db, &gone{}) != 0 {
			t.Errorf("row = %+v", stored)
		}
	})
}

// gorm.Model has a uint key; a tagged field before it takes precedence.
func TestShadowedGormModel(t *testing.T) {
	t.Parallel()
	type modern struct {
		gorm.Model
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Title string
	}
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &modern{})
		rows := []modern{{Title: "a"}, {Title: "b"}}
		Must(t, db.Create(&rows))
		if stored := Stored(t, db, "moderns"); stored["a"] != rows[0].ID || stored["b"] != rows[1].ID || rows[0].ID == 0 {
			t.Errorf("rows = %v, structs %+v", stored, rows)
		}
	})
}
