package plugintest

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// rejected has the key of its account, and a hook that fails.
type rejected struct {
	AccountID types.ID `gorm:"primaryKey" snowflake:"pk"`
	Account   account
	Number    string `snowflake:"serial=PAY"`
}

// BeforeCreate is a hook of GORM.
func (*rejected) BeforeCreate(*gorm.DB) error { return ErrInjected }

// A row that a hook has rejected gets no serial number.
func TestNoSerialAfterAnError(t *testing.T) {
	t.Parallel()
	row := rejected{Account: account{ID: 7}}
	if err := Dry(t, gormflake.New(NewLayoutCounter())).Create(&row).Error; !errors.Is(err, ErrInjected) || row.Number != "" {
		t.Errorf("err = %v, row = %+v, want the hook's error and no number", err, row)
	}
}

// witness keeps the serial number that its hook saw.
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

// Only the serial number of a row that a parent gives its key waits for it.
func TestHookSeesSerialWithoutParent(t *testing.T) {
	t.Parallel()
	rows := []*witness{{}, {Account: &account{ID: 7}}}
	for _, row := range rows {
		Must(t, Dry(t, gormflake.New(NewLayoutCounter())).Create(row))
	}
	if alone, child := rows[0], rows[1]; alone.Seen == "" || alone.Seen != alone.Number || child.Seen != "" || child.Number == "" {
		t.Errorf("rows = %+v and %+v: want the first to have seen its number, the second to get one later", alone, child)
	}
}

// GORM rejects nil rows, also where rows may have the key of a parent.
func TestNilRowOfAParent(t *testing.T) {
	t.Parallel()
	err := Dry(t, gormflake.New(NewLayoutCounter())).Create([]*profile{nil, {Account: account{ID: 7}}}).Error
	if !errors.Is(err, gorm.ErrInvalidData) {
		t.Errorf("err = %v, want %v", err, gorm.ErrInvalidData)
	}
}

// A tagged column other than the primary key leaves relations alone.
func TestTaggedColumnOfAChild(t *testing.T) {
	t.Parallel()
	type stub struct {
		ID        int64    `gorm:"primaryKey;autoIncrement:false"`
		Code      types.ID `snowflake:"id"`
		AccountID types.ID
		Account   account
	}
	row := stub{ID: 3, Account: account{ID: 7}}
	Must(t, Dry(t, gormflake.New(&Counter{})).Create(&row))
	if row.Code != 1001 || row.AccountID != 7 {
		t.Errorf("row = %+v, want code 1001 and account 7", row)
	}
}

// A serial number that is the key is one that the database would have to return.
// Where nothing is updated, nothing is returned.
func TestUpsertMapsWithASerialKey(t *testing.T) {
	t.Parallel()
	db := memory(t, NewPlugin(t))
	Migrate(t, db, &Receipt{})
	for _, nothing := range []bool{false, true} {
		conflict := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: nothing, DoUpdates: clause.AssignmentColumns([]string{"title"})}
		err := db.Model(&Receipt{}).Clauses(conflict).Create([]map[string]any{{"id": 5, "title": "a"}, {"id": 6, "title": "b"}}).Error
		if refused := err != nil && strings.Contains(err.Error(), "an upsert of a slice of maps by another column than the key"); refused == nothing || nothing && err != nil {
			t.Errorf("DO NOTHING is %v: err = %v, want one: %v", nothing, err, !nothing)
		}
	}
}
