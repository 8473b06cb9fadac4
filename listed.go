package gormflake

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/check"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/snowflake"
)

// WithModels makes the plugin give keys to these models, which need no tag. List
// them as for AutoMigrate, and register the plugin before it:
//
//	models := []any{&User{}, &Card{}}
//	gen, err := gormflake.Open(ctx, db, gormflake.WithModels(models...),
//		gormflake.WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout())))
//	err = db.AutoMigrate(models...)
//
// The key of each is its only primary key and an integer of 64 bits that the database
// would assign, such as the one of gorm.Model. From then on it is as one tagged
// `gorm:"autoIncrement:false" snowflake:"pk"`. A model with a tagged key is left as it
// is, and so is one with snowflake:"-" on any field or embedded struct. It is an error
// of [gorm.DB.Use] if a model has another key, or was used before.
//
// On MySQL, MariaDB and SQLite the counter of an existing table follows the largest
// key: another program gets the generator's next one, and Save of a slice or a nested
// row overwrites its row. [Open] returns an error for such a table, which has the
// statement that parks the counter above all IDs of the next ten years. [New] reads no
// table: call [Check].
func WithModels(models ...any) Option {
	return optionFunc(func(cfg *config) error {
		cfg.models = append(cfg.models, models...)
		return nil
	})
}

// WithUnparkedCounters makes [Open] log a warning, by the logger of GORM, for each
// counter that would be an error: see [WithModels]. It is for tables into which no
// program inserts without the plugin, and for Open only.
func WithUnparkedCounters() Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = "WithUnparkedCounters"
		cfg.unparked = true
		return nil
	})
}

// untaggedKeys has GORM parse the models, and returns the keys that become tagged.
func untaggedKeys(db *gorm.DB, models []any) (keys []*schema.Field, err error) {
	config := *db.Config
	config.NamingStrategy = model.Namer{Namer: db.NamingStrategy}
	var errs []error
	for _, m := range models {
		stmt := &gorm.Statement{DB: &gorm.DB{Config: &config}}
		if err := stmt.Parse(m); err != nil {
			errs = append(errs, fmt.Errorf("gormflake: WithModels: %T: %w", m, err))
			continue
		}
		key, err := model.UntaggedKey(stmt.Schema)
		if err != nil {
			errs = append(errs, fmt.Errorf("gormflake: WithModels: model %s: %w", stmt.Schema.Name, err))
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	return keys, errors.Join(errs...)
}

// checkCounters is what [Open] does with counters of listed models, before the first key.
func checkCounters(db *gorm.DB, layout snowflake.Layout, cfg *config) error {
	keys, err := untaggedKeys(db, cfg.models)
	if err != nil || db.Name() != "mysql" && db.Name() != "sqlite" {
		return err
	}
	err = check.Counters(db, model.NewParking(layout), keys)
	if err != nil && cfg.unparked {
		db.Logger.Warn(db.Statement.Context, "%v", err)
		return nil
	}
	return err
}
