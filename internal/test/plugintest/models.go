package plugintest

import (
	"database/sql"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/types"
)

// Book has a types.ID key, as most models do.
type Book struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Title string   `gorm:"size:50"`
}

// PlainKeyBook has an int64 key.
type PlainKeyBook struct {
	ID    int64  `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// TextKeyBook has a string key.
type TextKeyBook struct {
	ID    string `gorm:"primaryKey;size:20" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// Payment has serial numbers made from its key.
type Payment struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:28;uniqueIndex" snowflake:"serial=PAY"`
	Title  string   `gorm:"size:50"`
}

// Receipt has serial numbers made from new IDs, because the serial number is its key.
type Receipt struct {
	Number string   `gorm:"primaryKey;size:28" snowflake:"serial=PAY"`
	ID     types.ID `gorm:"uniqueIndex" snowflake:"id"`
	Title  string   `gorm:"size:50"`
}

var (
	// Payments are rows of Payment.
	Payments = RowKind{
		Model: &Payment{},
		Table: "payments",
		Make:  func(title string, id types.ID) any { return &Payment{ID: id, Title: title} },
		Key:   func(row any) types.ID { return IDOf(row.(*Payment).Number) },
		Check: func(t *testing.T, db *gorm.DB) { CheckNumbers[Payment](t, db, true) },
	}
	// Receipts are rows of Receipt.
	Receipts = RowKind{
		Model: &Receipt{},
		Table: "receipts",
		Make:  func(title string, id types.ID) any { return &Receipt{ID: id, Title: title} },
		Key: func(row any) types.ID {
			r := row.(*Receipt)
			if IDOf(r.Number) < 1<<40 {
				panic("the number is not from a fresh ID: " + r.Number) // the IDs of tests such as Preset are small
			}
			return r.ID
		},
		Check: func(t *testing.T, db *gorm.DB) { CheckNumbers[Receipt](t, db, false) },
	}
)

// CheckNumbers checks that the serial numbers of all rows are made from their keys or, if
// fromKey is false, from other IDs.
func CheckNumbers[T any](t *testing.T, db *gorm.DB, fromKey bool) {
	t.Helper()
	var rows []struct {
		ID     types.ID
		Number string
	}
	Must(t, db.Session(&gorm.Session{NewDB: true}).Model(new(T)).Find(&rows))
	for _, row := range rows {
		if id := IDOf(row.Number); id == 0 || (id == row.ID) != fromKey {
			t.Errorf("row %d has number %q of ID %d", row.ID, row.Number, id)
		}
	}
}

// Catalog has entries, and a second column of IDs.
type Catalog struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public  types.ID `snowflake:"id"`
	Title   string
	Year    int
	Entries []Entry
}

// Entry belongs to a [Catalog].
type Entry struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	CatalogID types.ID
	Sku       string
	Amount    int
}

// Product has a unique column besides its key, for upserts.
type Product struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public types.ID `snowflake:"id"`
	Code   string   `gorm:"size:20;uniqueIndex"`
	Price  int
}

// CanTell reports whether the database returns the rows of an INSERT, so that the plugin
// can tell which rows an upsert has inserted.
func CanTell(db *gorm.DB) bool {
	return slices.Contains(db.Callback().Create().Clauses, "RETURNING")
}

// ByCode returns the clause of an upsert that finds rows by their code and sets the
// columns.
func ByCode(columns ...string) clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns(columns)}
}

// BrokenParent has a relation that GORM rejects after it has parsed the relation
// Children. GORM then has a schema of the child and none of its parent.
type BrokenParent struct {
	ID       types.ID      `gorm:"primaryKey" snowflake:"pk"`
	Children []BrokenChild `gorm:"foreignKey:ParentID"`
	Broken   []struct{ Text string }
}

// BrokenChild belongs to a [BrokenParent].
type BrokenChild struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	ParentID types.ID
	Parent   *BrokenParent
}

// NamedInt is a named type for keys.
type NamedInt int64

// NamedUint is a named type for keys.
type NamedUint uint64

// NamedText is a named type for keys.
type NamedText string

// BookID is a typed ID.
type BookID = types.Of[Book]

// Kinds has a field of every type that can hold an ID.
type Kinds struct {
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
	Named     NamedInt           `snowflake:"id"`
	NamedUint NamedUint          `snowflake:"id"`
	NamedText NamedText          `gorm:"size:20" snowflake:"id"`
	PtrNamed  *NamedInt          `snowflake:"id"`
	Renamed   types.ID           `gorm:"column:other_name" snowflake:"id"`
	WriteOnce types.ID           `gorm:"<-:create" snowflake:"id"`
	Typed     BookID             `snowflake:"id"`
	PtrTyped  *BookID            `snowflake:"id"`
	NullTyped sql.Null[BookID]   `snowflake:"id"`
}

// Values returns the keys of a row as text, in the order of the fields.
func (k *Kinds) Values(t *testing.T) []string {
	t.Helper()
	var texts []string
	v := reflect.ValueOf(k).Elem()
	for i := range v.NumField() {
		f := reflect.Indirect(v.Field(i))
		if !f.IsValid() {
			t.Fatalf("%s is nil", v.Type().Field(i).Name)
		}
		if f.Kind() == reflect.Struct { // a type of package sql, whose second field is Valid
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

// Inner is exported because GORM requires it of embedded pointers.
type Inner struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

// Parcel is a row of the usual size.
type Parcel struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Sender string
	City   string
	Weight int64
	Price  float64
	Paid   bool
}
