package fill_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// rejected has the key of its account, and a hook that fails.
type rejected struct {
	AccountID types.ID `gorm:"primaryKey" snowflake:"pk"`
	Account   account
	Number    string `snowflake:"serial=PAY"`
}

// BeforeCreate is a hook of GORM.
func (*rejected) BeforeCreate(*gorm.DB) error { return plugintest.ErrInjected }

// TestNoSerialAfterAnError checks that a row gets no serial number if a hook has rejected
// it.
func TestNoSerialAfterAnError(t *testing.T) {
	t.Parallel()
	row := rejected{Account: account{ID: 7}}
	if err := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Create(&row).Error; !errors.Is(err, plugintest.ErrInjected) || row.Number != "" {
		t.Errorf("err = %v, row = %+v, want the hook's error and no number", err, row)
	}
}

// witness records the serial number that its hook saw.
type witness struct {
	AccountID types.ID `gorm:"primaryKey" snowflake:"pk"`
	Account   *account
	Number    string `snowflake:"serial=PAY"`
	Seen      string `gorm:"-"`
}

// BeforeCreate is a hook of GORM.
func (w *witness) BeforeCreate(*gorm.DB) error {
	w.Seen = w.Number
	return nil
}

// TestHookSeesSerialWithoutParent checks that a hook sees the serial number, except of a
// row whose key comes from a parent.
func TestHookSeesSerialWithoutParent(t *testing.T) {
	t.Parallel()
	rows := []*witness{{}, {Account: &account{ID: 7}}}
	for _, row := range rows {
		plugintest.Must(t, plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Create(row))
	}
	if alone, child := rows[0], rows[1]; alone.Seen == "" || alone.Seen != alone.Number || child.Seen != "" || child.Number == "" {
		t.Errorf("rows = %+v and %+v: want the first to have seen its number, the second to get one later", alone, child)
	}
}

// TestSkipOfAChild checks that under Skip a row gets no serial number, neither before nor
// after GORM has saved the parent from which its key comes.
func TestSkipOfAChild(t *testing.T) {
	t.Parallel()
	row := witness{Account: &account{ID: 7}}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).WithContext(gormflake.Skip(t.Context())).Create(&row))
	if row.AccountID != 7 || row.Number != "" {
		t.Errorf("row = %+v, want account 7 and no number", row)
	}
}

// TestSerialOfTheFirstKey checks that the smallest key has a serial number.
func TestSerialOfTheFirstKey(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewLayoutCounter()
	row := plugintest.Payment{ID: 1}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(gen)).Create(&row))
	if plugintest.IDOf(row.Number) != 1 || gen.Calls != 0 {
		t.Errorf("row = %+v after %d calls, want the number of ID 1", row, gen.Calls)
	}
}

// readOnceValue is a value that is NULL when it is read for the second time.
type readOnceValue struct {
	text string
	read bool
}

func (f *readOnceValue) Value() (driver.Value, error) {
	if f.read {
		return nil, nil
	}
	f.read = true
	return f.text, nil
}

// TestMapsThatChange checks the error for a map whose values change during the call, as if
// another goroutine removed a key. The map then needs more IDs than were generated.
func TestMapsThatChange(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter()))
	for name, maps := range map[string][]map[string]any{
		"key":           {{"number": "a", "id": &readOnceValue{text: "5"}}, {"number": "b"}},
		"serial number": {{"number": &readOnceValue{text: "a"}, "id": 5}, {"id": 6}},
	} {
		err := db.Model(&plugintest.Receipt{}).Create(maps).Error
		if want := "gormflake: model Receipt: the map was modified concurrently: do not share it until Create returns"; err == nil || err.Error() != want {
			t.Errorf("%s: err = %v, want %s", name, err, want)
		}
	}
}

// TestNilMapWithoutKey checks that a nil map is valid if the plugin sets no column of it.
func TestNilMapWithoutKey(t *testing.T) {
	t.Parallel()
	type draft struct {
		Title  string   `gorm:"primaryKey"`
		Public types.ID `snowflake:"id"`
	}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Model(&draft{}).Omit("Public").Create(map[string]any(nil)))
}

// TestUpsertMapKeepsKeyOfFieldName checks an upsert of a map that has its key under the name
// of the field, ID, and not under the name of the column, id. The new row must get this key.
func TestUpsertMapKeepsKeyOfFieldName(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{})
		m := map[string]any{"ID": plugintest.Preset, "Code": "x", "Price": 2}
		plugintest.Must(t, db.Model(&plugintest.Product{}).Clauses(plugintest.ByCode("price")).Create(&m))
		if stored := storedProduct(t, db, "x"); stored.ID != plugintest.Preset {
			t.Errorf("row = %+v, map %v, want key %d", stored, m, plugintest.Preset)
		}
	})
}

// TestUpsertByNoColumn checks that the struct gets the key of the existing row in SQLite's
// upsert that names no column, which finds the row by any unique column.
func TestUpsertByNoColumn(t *testing.T) {
	t.Parallel()
	db := plugintest.Memory(t, plugintest.NewPlugin(t))
	type item struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code  string   `gorm:"uniqueIndex"`
		Price int
	}
	plugintest.Migrate(t, db, &item{})
	old, row := item{Code: "x", Price: 1}, item{Code: "x", Price: 2}
	plugintest.Must(t, db.Create(&old))
	plugintest.Must(t, db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"price"})}).Create(&row))
	if row.ID != old.ID {
		t.Errorf("the struct has key %d, the row %d", row.ID, old.ID)
	}
}

// TestUpsertMapsByConstraint checks an upsert of maps that names both the column of the key
// and a constraint. The constraint may be on other columns, so the plugin must reject the
// upsert, as it rejects an upsert of maps by another column.
func TestUpsertMapsByConstraint(t *testing.T) {
	t.Parallel()
	conflict := clause.OnConflict{OnConstraint: "codes", Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}
	err := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Model(&plugintest.Book{}).Clauses(conflict).Create([]map[string]any{{"id": 5}, {"id": 6}}).Error
	if err == nil || !strings.Contains(err.Error(), "an upsert of a slice of maps by another column than the key") {
		t.Errorf("err = %v, want that the keys cannot be returned", err)
	}
}

// TestReturningOfWriteOnlyColumn checks that the plugin does not add a column to RETURNING
// that GORM may write but not read, here Secret.
func TestReturningOfWriteOnlyColumn(t *testing.T) {
	t.Parallel()
	type secretive struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Code   string   `gorm:"unique"`
		Secret string   `gorm:"default:fresh();->:false;<-:create"`
	}
	tx := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Clauses(plugintest.ByCode("code")).Create(&secretive{})
	plugintest.Must(t, tx)
	if sql := tx.Statement.SQL.String(); !strings.HasSuffix(sql, " RETURNING `id`") {
		t.Errorf("sql = %s, want the key returned alone", sql)
	}
}

// TestNilRowOfAParent checks that a nil row causes GORM's error and no panic, also in a
// model whose key may come from a parent, for which the plugin reads the rows once more.
func TestNilRowOfAParent(t *testing.T) {
	t.Parallel()
	err := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Create([]*profile{nil, {Account: account{ID: 7}}}).Error
	if !errors.Is(err, gorm.ErrInvalidData) {
		t.Errorf("err = %v, want %v", err, gorm.ErrInvalidData)
	}
}

// TestTaggedColumnOfAChild checks a row with a tagged column that is not its primary key. The
// column gets an ID, and the row's foreign key gets the key of the parent.
func TestTaggedColumnOfAChild(t *testing.T) {
	t.Parallel()
	type stub struct {
		ID        int64    `gorm:"primaryKey;autoIncrement:false"`
		Code      types.ID `snowflake:"id"`
		AccountID types.ID
		Account   account
	}
	row := stub{ID: 3, Account: account{ID: 7}}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Create(&row))
	if row.Code != 1001 || row.AccountID != 7 {
		t.Errorf("row = %+v, want code 1001 and account 7", row)
	}
}

// TestUpsertMapsWithASerialKey checks an upsert of maps by the column id of a model whose
// primary key is a serial number. If the upsert updates rows, it is an error, because the
// database would have to return their serial numbers. With DO NOTHING it is no error.
func TestUpsertMapsWithASerialKey(t *testing.T) {
	t.Parallel()
	db := plugintest.Memory(t, plugintest.NewPlugin(t))
	plugintest.Migrate(t, db, &plugintest.Receipt{})
	for _, nothing := range []bool{false, true} {
		conflict := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: nothing, DoUpdates: clause.AssignmentColumns([]string{"title"})}
		err := db.Model(&plugintest.Receipt{}).Clauses(conflict).Create([]map[string]any{{"id": 5, "title": "a"}, {"id": 6, "title": "b"}}).Error
		if refused := err != nil && strings.Contains(err.Error(), "an upsert of a slice of maps by another column than the key"); refused == nothing || nothing && err != nil {
			t.Errorf("DO NOTHING is %v: err = %v, want one: %v", nothing, err, !nothing)
		}
	}
}
