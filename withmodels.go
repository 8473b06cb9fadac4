package gormflake

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/check"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/snowflake"
)

// untaggedKeys makes GORM parse the models, and returns the keys that the plugin will
// treat as tagged. It does not change them. GORM parses each model once and keeps the
// naming strategy, so by [model.Namer] untaggedKeys rejects a model that was parsed
// before, for example by a statement.
func untaggedKeys(db *gorm.DB, models []any) (keys []*schema.Field, err error) {
	config := *db.Config // a copy, because only these parses use the Namer
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

// checkModels returns the mistakes of [WithModels] that Open can find before it leases a
// worker. They are models without a suitable key, a layout that JavaScript would round,
// and counters that are not parked.
func checkModels(db *gorm.DB, layout snowflake.Layout, cfg *config) error {
	keys, err := untaggedKeys(db, cfg.models)
	if !choosesLayout(cfg.snowflake, layout) {
		err = errors.Join(err, checkLayout("Open: ", "give Open WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout()))", layout, keys))
	}
	return errors.Join(err, checkCounters(db, layout, cfg, keys))
}

// choosesLayout reports whether one of the options has set layout, which is the result of
// all of them. To find out, it puts an option with another layout in front. Because the
// last option counts, the result then differs from layout only if no option sets it.
func choosesLayout(opts []snowflake.Option, layout snowflake.Layout) bool {
	first := snowflake.WithLayout(snowflake.JSSafeLayout())
	got, _ := snowflake.CheckOptions(append([]snowflake.Option{first}, opts...)...)
	return got == layout
}

// checkGeneratorLayout calls checkLayout if the generator has the default layout, and
// reports so by a method HasDefaultLayout.
func checkGeneratorLayout(gen Generator, keys []*schema.Field) error {
	g, ok := gen.(interface {
		Layout() snowflake.Layout
		HasDefaultLayout() bool
	})
	if !ok || !g.HasDefaultLayout() {
		return nil
	}
	return checkLayout("", "give snowflake.New WithLayout(snowflake.JSSafeLayout())", g.Layout(), keys)
}

// checkLayout rejects the default layout for keys of WithModels that are numbers in JSON,
// because JavaScript would round their last digits. call and fix are the beginning and the
// advice of the error. Callers skip checkLayout if an option sets the layout, because the
// user then chose it.
func checkLayout(call, fix string, layout snowflake.Layout, keys []*schema.Field) error {
	const exact = 53 // bits of an integer in a JavaScript number
	i := slices.IndexFunc(keys, isNumberInJSON)
	if i < 0 || layout.TotalBits <= exact {
		return nil
	}
	return fmt.Errorf("gormflake: %smodel %s of WithModels has a key that is a number in JSON, and JavaScript rounds the IDs of the default layout, of %d bits: %s; if no JavaScript reads the keys, or the store has this layout already, choose it by snowflake.WithLayout(snowflake.TwitterLayout())",
		call, keys[i].Schema.Name, layout.TotalBits, fix)
}

// isNumberInJSON reports whether encoding/json writes the field as a number.
func isNumberInJSON(f *schema.Field) bool {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	hidden := name == "-" && options == "" // encoding/json leaves the field out
	return !hidden && !slices.Contains(strings.Split(options, ","), "string") && !model.IsText(f.FieldType)
}

// checkCounters rejects counters of listed models that are not parked, before the
// generator issues the first key. With [WithUnparkedCounters] it logs them as a warning
// instead. It skips PostgreSQL, whose sequences do not follow the largest key.
func checkCounters(db *gorm.DB, layout snowflake.Layout, cfg *config, keys []*schema.Field) error {
	// The dialect of MariaDB is also mysql.
	if db.Name() != "mysql" && db.Name() != "sqlite" {
		return nil
	}
	place := parking.NewPlace(layout) // where counters are parked, above the generator's IDs
	counters, err := check.Counters(db, place, keys)
	switch {
	case len(counters) == 0:
		return err
	case cfg.unparked:
		db.Logger.Warn(db.Statement.Context, "%v", countersError(counters, layout, place))
		return err
	}
	return errors.Join(countersError(counters, layout, place), err)
}

// countersError returns one error for all tables, with their common explanation once. It
// contains the command and the statements that park the counters, and names the tables
// whose counter cannot be parked.
func countersError(counters []check.Counter, layout snowflake.Layout, place parking.Place) error {
	var tables, parkable, unparkable, statements []string
	for _, c := range counters {
		tables = append(tables, fmt.Sprintf("%s (at %d)", c.Table, c.Next))
		if len(c.Park) == 0 {
			unparkable = append(unparkable, c.Table)
			continue
		}
		// The command is for a shell, so the name is in single quotes.
		parkable = append(parkable, "'"+strings.ReplaceAll(c.Table, "'", `'\''`)+"'")
		statements = append(statements, c.Park...)
	}
	text := fmt.Sprintf("gormflake: Open: the database still assigns keys (auto-increment) in %s: such a counter %s.", strings.Join(tables, ", "), check.FollowsText)
	if len(unparkable) > 0 {
		text += " Move with package sqlmigrate, since no statement parks it: " + strings.Join(unparkable, ", ") + "."
	}
	if len(parkable) > 0 {
		// The command knows these two layouts by name, and the second is its default.
		flag := map[snowflake.Layout]string{snowflake.JSSafeLayout(): "--layout js-safe ", snowflake.TwitterLayout(): ""}[layout]
		text += fmt.Sprintf(" Park above all IDs until %d: gormflake migrate apply --park %s--dsn URL %s, or the statements below.", place.Until.Year(), flag, strings.Join(parkable, " "))
	}
	text += " If no program inserts into these tables without the plugin, WithUnparkedCounters makes this a warning"
	return errors.New(strings.Join(append([]string{text}, statements...), "\n"))
}
