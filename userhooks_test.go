package gormflake_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

// diary records the keys that its hooks see.
type diary struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Saving types.ID `gorm:"-"`
	Making types.ID `gorm:"-"`
	Made   types.ID `gorm:"-"`
	Pages  []diaryPage
}

type diaryPage struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	DiaryID types.ID
	Making  types.ID `gorm:"-"`
}

func (d *diary) BeforeSave(*gorm.DB) error   { d.Saving = d.ID; return nil }
func (d *diary) BeforeCreate(*gorm.DB) error { d.Making = d.ID; return nil }
func (d *diary) AfterCreate(*gorm.DB) error  { d.Made = d.ID; return nil }

func (p *diaryPage) BeforeCreate(*gorm.DB) error { p.Making = p.ID; return nil }

func TestUserHooksSeeKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *gorm.DB) {
		migrate(t, db, &diary{}, &diaryPage{})
		diaries := []diary{{Pages: []diaryPage{{}, {}}}, {}}
		must(t, db.Create(&diaries))
		for _, d := range diaries {
			if d.ID == 0 || d.Saving != d.ID || d.Making != d.ID || d.Made != d.ID {
				t.Errorf("key %d, hooks saw %d, %d, %d", d.ID, d.Saving, d.Making, d.Made)
			}
		}
		for _, p := range diaries[0].Pages {
			if p.ID == 0 || p.Making != p.ID {
				t.Errorf("page key %d, hook saw %d", p.ID, p.Making)
			}
		}
	})
}
