package check_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

type (
	author struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
	textAuthor struct {
		ID string `gorm:"primaryKey;size:20" snowflake:"pk"`
	}
	OtherColumn struct {
		AuthorID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	tenant struct {
		TenantID types.ID `gorm:"primaryKey"`
	}
	nestedAuthor struct {
		Author author `gorm:"embedded;embeddedPrefix:author_"`
	}
)

// TestSecondKeyOfEmbeddedStruct checks that an embedded struct with a tagged key is an
// error if its key becomes a second primary key of the model, and that other composite
// keys are accepted.
func TestSecondKeyOfEmbeddedStruct(t *testing.T) {
	t.Parallel()
	type (
		prefixed struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			Author author   `gorm:"embedded;embeddedPrefix:author_"`
		}
		pointer struct {
			gormflake.Model
			Author *author `gorm:"embedded;embeddedPrefix:author_"`
		}
		text struct {
			ID     string     `gorm:"primaryKey;size:20" snowflake:"pk"`
			Author textAuthor `gorm:"embedded;embeddedPrefix:author_"`
		}
		counted struct {
			ID     uint
			Author author `gorm:"embedded;embeddedPrefix:author_"`
		}
		unprefixed struct {
			ID types.ID `gorm:"primaryKey" snowflake:"pk"`
			OtherColumn
		}
		deep struct {
			ID    types.ID     `gorm:"primaryKey" snowflake:"pk"`
			Outer nestedAuthor `gorm:"embedded"`
		}
		alone struct {
			Author author `gorm:"embedded;embeddedPrefix:my_"`
			Title  string
		}
		ofTenant struct {
			tenant
			gormflake.Model
		}
		both struct {
			TenantID types.ID `gorm:"primaryKey" snowflake:"pk"`
			ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, row := range []any{&prefixed{}, &pointer{Author: &author{}}, &text{}, &counted{}, &unprefixed{}, &deep{}} {
			const want = "the key of an embedded struct becomes a second primary key, column author_id, with an ID that is in no other row: embed"
			for name, err := range map[string]error{"Check": gormflake.Check(db, row), "Create": db.Create(row).Error} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s of %T: err = %v", name, row, err)
				}
			}
		}
		for _, row := range []any{&alone{}, &ofTenant{tenant: tenant{1}}, &both{}} {
			plugintest.Migrate(t, db, row)
			if err := gormflake.Check(db, row); err != nil {
				t.Errorf("Check of %T: %v", row, err)
			}
			plugintest.Must(t, db.Create(row))
		}
	})
}

type (
	player struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Games []game   `gorm:"many2many:plays"`
	}
	game struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Players []player `gorm:"many2many:plays"`
	}
	play struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		PlayerID types.ID
		GameID   types.ID
	}
)

// TestJoinModelWithoutSetup checks the error for a model of a join table that was not
// registered by SetupJoinTable. GORM would create the join rows from a struct of its own,
// without the tagged key.
func TestJoinModelWithoutSetup(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &play{})
		plugintest.Migrate(t, db, &player{}, &game{})
		want := "GORM creates the rows of the join table plays without play.ID, which is tagged: call db.SetupJoinTable with play"
		plugintest.Wants(t, gormflake.Check(db, &player{}, &play{}, &game{}), []string{want})
		if err := db.Create(&player{Games: make([]game, 1)}).Error; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Create: %v", err)
		}
		for name, model := range map[string]any{"Games": &player{}, "Players": &game{}} {
			if err := db.SetupJoinTable(model, name, &play{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := gormflake.Check(db, &player{}, &play{}, &game{}); err != nil {
			t.Error(err)
		}
		plugintest.Must(t, db.Create(&player{Games: make([]game, 2)}))
		var plays []play
		plugintest.Must(t, db.Find(&plays))
		if len(plays) != 2 || plays[0].PlayerID == 0 || plays[0].GameID == 0 {
			t.Errorf("plays %+v", plays)
		}
	})
}
