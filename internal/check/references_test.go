package check_test

import (
	"database/sql/driver"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
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

// TestStringReferenceToNamedInteger checks that the plugin rejects a foreign key of type
// string to a key of a named integer type. GORM converts such a key as Go does, and would
// store "\uFFFD" as the owner of every label.
func TestStringReferenceToNamedInteger(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &labelledID{}, &label{})
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

type (
	labelledPointer struct {
		ID     *types.ID   `snowflake:"pk"`
		Labels []textLabel `gorm:"foreignKey:OwnerID"`
	}
	textLabel struct {
		ID      types.ID `snowflake:"pk"`
		OwnerID string   `gorm:"size:36"`
	}
	// narrowTree refers to itself by one column in two relations.
	narrowTree struct {
		ID      types.ID `snowflake:"pk"`
		UpperID *int32
		Upper   *narrowTree
		Lower   []narrowTree `gorm:"foreignKey:UpperID"`
	}
)

// protest is a type whose Scan stores the value and returns an error.
type protest struct{ value driver.Value }

func (p *protest) Scan(value any) error {
	p.value = value
	return plugintest.ErrInjected
}

func (p protest) Value() (driver.Value, error) { return p.value, nil }

type (
	guild struct {
		ID      types.ID      `snowflake:"pk"`
		Members []guildMember `gorm:"foreignKey:GuildID"`
	}
	guildMember struct {
		ID      types.ID `snowflake:"pk"`
		GuildID protest  `gorm:"type:bigint"`
	}
)

// TestReferenceErrors checks the whole error for a wrong foreign key. For a key of type
// *types.ID, the error advises *types.ID, and not a pointer to a pointer. If two relations
// have the same foreign key, the error reports it once.
func TestReferenceErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		row  any
		want string
	}{
		{&labelledPointer{Labels: make([]textLabel, 1)}, "gormflake: model textLabel, field OwnerID, foreign key to labelledPointer: GORM would store one character of a string instead of the ID: use types.ID or *types.ID here, or sql.NullString for text"},
		{&guild{Members: make([]guildMember, 1)}, "gormflake: model guildMember, field GuildID, foreign key to guild: type check_test.protest cannot hold an ID: use types.ID, int64, uint64 or string"},
		{&narrowTree{}, "gormflake: model narrowTree, field UpperID, foreign key to narrowTree: type int32 has 32 bits, an ID needs 64: use types.ID or int64"},
	} {
		if err := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Create(test.row).Error; err == nil || err.Error() != test.want {
			t.Errorf("%T: err = %v\nwant %s", test.row, err, test.want)
		}
	}
}

// TestReferenceToABrokenModel checks that Check and Assign report a model that GORM cannot
// parse, also if only a relation leads to it.
func TestReferenceToABrokenModel(t *testing.T) {
	t.Parallel()
	db := plugintest.Memory(t, plugintest.NewPlugin(t))
	const want = "BrokenParent's field Broken"
	plugintest.Wants(t, gormflake.Check(db, &plugintest.BrokenParent{}, &plugintest.BrokenChild{}), []string{"gormflake: check *plugintest.BrokenParent: ", want}, []string{"gormflake: check model BrokenChild: ", want})
	if err := gormflake.Assign(db, &plugintest.BrokenChild{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Assign: %v", err)
	}
}

// TestStringReferenceToPlainInteger checks that a foreign key of type string gets the
// decimal text of an int64 key, which GORM converts without loss.
func TestStringReferenceToPlainInteger(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &labelledInt{}, &label{})
		row := labelledInt{Labels: make([]label, 1)}
		plugintest.Must(t, db.Create(&row))
		if got, want := row.Labels[0].OwnerID, strconv.FormatInt(row.ID, 10); got != want {
			t.Errorf("owner %q, want %q", got, want)
		}
	})
}
