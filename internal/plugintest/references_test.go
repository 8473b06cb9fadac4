package plugintest

import (
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type label struct {
	ID        types.ID `snowflake:"pk"`
	OwnerID   string   `gorm:"size:36"`
	OwnerType string
}

type labelledID struct {
	ID     types.ID `snowflake:"pk"`
	Labels []label  `gorm:"polymorphic:Owner"`
}

type labelledInt struct {
	ID     int64   `gorm:"autoIncrement:false" snowflake:"pk"`
	Labels []label `gorm:"polymorphic:Owner"`
}

// GORM alone would store "\uFFFD" as the owner of every label.
func TestStringReferenceToNamedInteger(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &labelledID{}, &label{})
		for name, err := range map[string]error{
			"Create": db.Create(&labelledID{Labels: make([]label, 1)}).Error,
			"Assign": gormflake.Assign(db, &labelledID{Labels: make([]label, 1)}),
			"Check":  gormflake.Check(db, &labelledID{}),
		} {
			if err == nil || !strings.Contains(err.Error(), "model label, field OwnerID, foreign key to labelledID: GORM would store one character of a string instead of the ID: use types.ID or *types.ID here, or sql.NullString for text") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestStringReferenceToPlainInteger(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &labelledInt{}, &label{})
		row := labelledInt{Labels: make([]label, 1)}
		Must(t, db.Create(&row))
		if got, want := row.Labels[0].OwnerID, strconv.FormatInt(row.ID, 10); got != want {
			t.Errorf("owner %q, want %q", got, want)
		}
	})
}
