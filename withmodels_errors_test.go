package gormflake_test

import (
	"math/bits"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// The first models cannot get keys from WithModels. The models from leftModel on have a tag
// that leaves them out.
type (
	pairKey struct {
		Left  uint `gorm:"primaryKey"`
		Right uint `gorm:"primaryKey"`
	}
	narrowKey  struct{ ID uint32 }
	narrowSize struct {
		ID uint `gorm:"size:32"`
	}
	ownKey struct {
		ID int64 `gorm:"autoIncrement:false"`
	}
	wordKey   struct{ ID string }
	noKey     struct{ Name string }
	defaultID struct {
		ID uint `gorm:"default:7"`
	}
	readKey struct {
		ID uint `gorm:"->"`
	}
	leftModel struct {
		gorm.Model `snowflake:"-"`
		Title      string
	}
	leftField struct {
		ID    uint `snowflake:"-"`
		Title string
	}
	leftBlank struct {
		_     struct{} `snowflake:"-"`
		ID    uint
		Title string
	}
	leftAndTagged struct {
		_  struct{} `snowflake:"-"`
		ID types.ID `snowflake:"pk"`
	}
)

// TestWithModelsMistakes checks a list of WithModels with a model that cannot get keys. The
// error must name the model, the reason and the fix. The plugin then sets no key in the
// other model of the list either.
func TestWithModelsMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model any
		want  string
	}{
		{&pairKey{}, `model pairKey: the key has 2 columns (left, right): tag the one that gets IDs snowflake:"pk", or leave`},
		{&narrowKey{}, `model narrowKey: field ID: type uint32 has 32 bits, an ID needs 64: use types.ID or int64, or leave`},
		{&narrowSize{}, `model narrowSize: field ID: the column has 32 bits, an ID needs 64: remove gorm:"size", or leave`},
		{&ownKey{}, `model ownKey: field ID: the database does not assign the key, a int64: tag it snowflake:"pk", or leave`},
		{&wordKey{}, `model wordKey: field ID: the database does not assign the key, a string: tag it snowflake:"pk", or leave`},
		{&noKey{}, `model noKey: the key has 0 columns (): tag the one`},
		{&defaultID{}, `model defaultID: field ID: the key has a default: remove gorm:"default", or leave`},
		{&readKey{}, `model readKey: field ID: GORM may not write the column on create: remove gorm:"->"`},
		{7, `int: unsupported data type`},
		{nil, `<nil>: unsupported data type`},
	} {
		db := plugintest.Dummy(t, &gorm.Config{DryRun: true})
		err := db.Use(gormflake.New(&plugintest.Counter{}, gormflake.WithModels(&plainModel{}, test.model)))
		if err == nil || !strings.HasPrefix(err.Error(), "gormflake: WithModels: "+test.want) {
			t.Errorf("%T: err = %v, want %s", test.model, err, test.want)
		}
		row := plainModel{}
		if plugintest.Must(t, db.Create(&row)); row.ID != 0 {
			t.Errorf("%T: the other model has key %d", test.model, row.ID)
		}
	}
}

// TestWithModelsUintIs64Bits checks that WithModels rejects a key of type uint exactly on
// machines where it has 32 bits.
func TestWithModelsUintIs64Bits(t *testing.T) {
	t.Parallel()
	err := plugintest.Dummy(t, &gorm.Config{}).Use(gormflake.New(&plugintest.Counter{}, gormflake.WithModels(&keyed[uint]{})))
	if narrow := err != nil && strings.Contains(err.Error(), "type uint has 32 bits"); narrow != (bits.UintSize == 32) {
		t.Errorf("err = %v, where uint has %d bits", err, bits.UintSize)
	}
}

type (
	plainOwner struct {
		gorm.Model
		Things []plainThing `gorm:"foreignKey:OwnerID"`
	}
	plainThing struct {
		gorm.Model
		OwnerID uint
	}
)

// TestWithModelsUsedBefore checks that a model that GORM has already parsed is an error,
// because another goroutine may use the model, or its table may have rows whose keys the
// database has assigned.
func TestWithModelsUsedBefore(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]any{"itself": &plainThing{}, "by a relation": &plainOwner{}} {
		db := plugintest.Dry(t, nil)
		plugintest.Must(t, db.Find(use))
		err := db.Use(gormflake.New(&plugintest.Counter{}, gormflake.WithModels(&plainThing{})))
		if want := "gormflake: WithModels: model plainThing: the model was used before the plugin was registered: register the plugin before AutoMigrate"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: err = %v, want %s", name, err, want)
		}
	}
}

// TestWithModelsAgain checks that a list may name a model twice and in any order, and
// that the plugin may be initialized again, as a resolver of replicas does.
func TestWithModelsAgain(t *testing.T) {
	t.Parallel()
	plugin := gormflake.New(&plugintest.Counter{}, gormflake.WithModels(&plainOwner{}, &plainThing{}, plainThing{}, []plainOwner{}))
	db := plugintest.Dry(t, plugin)
	if err := plugin.Initialize(db); err != nil {
		t.Fatal(err)
	}
	row := plainOwner{Things: make([]plainThing, 2)}
	plugintest.Must(t, db.Create(&row))
	if row.ID != 1001 || row.Things[0].ID != 1002 || row.Things[1].ID != 1003 || row.Things[1].OwnerID != 1001 {
		t.Errorf("row = %+v", row)
	}
	plugintest.Must(t, plugintest.Dry(t, plugin).Create(&row))
}

// TestLeftOutOfWithModels checks that the database still assigns the keys of a model that
// has the tag snowflake:"-" on a field, and that a tagged key in such a model is an
// error.
func TestLeftOutOfWithModels(t *testing.T) {
	t.Parallel()
	models := []any{&leftModel{}, &leftField{}, &leftBlank{}}
	db := plugintest.Memory(t, gormflake.New(&plugintest.Counter{}, gormflake.WithModels(models...)))
	for _, row := range models {
		plugintest.Migrate(t, db, row)
		m := map[string]any{"title": "a"}
		plugintest.Must(t, db.Model(row).Create(m))
		var id types.ID
		if plugintest.Must(t, db.Model(row).Select("id").Scan(&id)); id != 1 {
			t.Errorf("%T: row has key %d, want 1 from the database", row, id)
		}
	}
	if err := gormflake.Check(db, models...); err != nil {
		t.Errorf("Check: %v", err)
	}
	err := db.Create(&leftAndTagged{}).Error
	if want := `gormflake: model leftAndTagged: the tag snowflake:"-" leaves the model out, and its key is tagged too: remove one of the tags`; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// TestWithModelsCountsInTests checks that the generator of gormflaketest counts the keys
// of each table of WithModels separately, and continues after a key that a row already
// has.
func TestWithModelsCountsInTests(t *testing.T) {
	t.Parallel()
	db := plugintest.Memory(t, gormflake.New(gormflaketest.New(), gormflake.WithModels(&plainOwner{}, &plainThing{})))
	plugintest.Migrate(t, db, &plainOwner{}, &plainThing{})
	plugintest.Must(t, db.Create(&plainOwner{Model: gorm.Model{ID: 7}, Things: make([]plainThing, 2)}))
	row := plainOwner{Things: make([]plainThing, 1)}
	plugintest.Must(t, db.Create(&row))
	if row.ID != 8 || row.Things[0].ID != 3 {
		t.Errorf("row = %+v, want keys 8 and 3", row)
	}
}
