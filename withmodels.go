package gormflake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/check"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/snowflake"
)

// untaggedKeys returns the primary keys of the models of [WithModels] that have no tag.
// Initialize later makes the plugin treat them as tagged. untaggedKeys changes no model.
//
// It returns an error for each model whose key cannot hold IDs, or that GORM has parsed
// before the plugin, for example in a statement. GORM parses a model once, and stores the
// naming strategy of that time in the result. untaggedKeys parses with a strategy of its own,
// [model.Namer]. If the result has another strategy, the model was parsed before, and
// [model.UntaggedKey] returns the error.
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
// worker. They are a model without a suitable key, a default layout whose IDs JavaScript
// would round, and an auto-increment counter that is not parked.
func checkModels(db *gorm.DB, layout snowflake.Layout, cfg *config) error {
	keys, err := untaggedKeys(db, cfg.models)
	if !choosesLayout(cfg.snowflake, layout) {
		err = errors.Join(err, checkLayout("Open: ", "give Open WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout()))", layout, keys))
	}
	return errors.Join(err, checkCounters(db, layout, cfg, keys))
}

// choosesLayout reports whether opts contain a WithLayout. layout is the layout that results
// from opts, which is the default if they contain no WithLayout. An option does not show what
// it sets, so choosesLayout puts a WithLayout with another layout in front of opts. The last
// WithLayout counts, so the result is still layout only if opts contain one.
func choosesLayout(opts []snowflake.Option, layout snowflake.Layout) bool {
	other := snowflake.WithLayout(snowflake.JSSafeLayout())
	got, _ := snowflake.CheckOptions(append([]snowflake.Option{other}, opts...)...)
	return got == layout
}

// checkGeneratorLayout rejects a generator whose IDs JavaScript would round; see checkLayout.
// It checks only a generator that has the default layout, which a *snowflake.Generator
// reports by HasDefaultLayout, because the program has chosen any other layout.
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

// checkLayout rejects the default layout, which has 63 bits, if a key of WithModels is a
// number in JSON, because JavaScript would round the key's last digits. A types.ID is a string
// in JSON, but a uint key of gorm.Model is a number. call, such as "Open: ", begins the error,
// and fix is its advice. Callers skip checkLayout if the program has chosen the layout by
// snowflake.WithLayout.
func checkLayout(call, fix string, layout snowflake.Layout, keys []*schema.Field) error {
	const exact = 53 // bits of an integer in a JavaScript number
	i := slices.IndexFunc(keys, isNumberInJSON)
	if i < 0 || layout.TotalBits <= exact {
		return nil
	}
	return fmt.Errorf("gormflake: %smodel %s of WithModels has a key that is a number in JSON, and JavaScript rounds the IDs of the default layout, of %d bits: %s; if no JavaScript reads the keys, or the store has this layout already, choose it by snowflake.WithLayout(snowflake.TwitterLayout())",
		call, keys[i].Schema.Name, layout.TotalBits, fix)
}

// isNumberInJSON reports whether encoding/json writes the field as a number. It does not if
// the json tag hides the field or has the option string, or if the type is text in JSON.
func isNumberInJSON(f *schema.Field) bool {
	tag := f.Tag.Get("json")
	_, options, _ := strings.Cut(tag, ",")
	hidden := tag == "-" // with "-,", encoding/json writes the field under the name -
	return !hidden && !slices.Contains(strings.Split(options, ","), "string") && !model.IsText(f.FieldType)
}

// checkCounters returns an error if the tables of keys have auto-increment counters that are
// not parked, which means moved above all IDs of the next ten years. Such a counter would move
// past each key that the generator issues, and then assign a key that the generator issues too.
// With [WithUnparkedCounters] it logs a warning instead. It skips PostgreSQL, whose sequences
// do not follow the largest key.
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

// countersError returns one error for all counters, with their common explanation once. The
// error names the tables, and contains the command and the SQL statements that park the
// counters. The error lists separately the tables whose counter no statement can park. Each
// statement is on a line of its own at the end.
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
		text += fmt.Sprintf(" Park above all IDs until %d: gormflake migrate apply --park %s--dsn URL %s, or the statements below.", place.Until.Year(), layoutFlags(layout), strings.Join(parkable, " "))
	}
	text += " If no program inserts into these tables without the plugin, WithUnparkedCounters makes this a warning"
	return errors.New(strings.Join(append([]string{text}, statements...), "\n"))
}

// layoutFlags returns the flags by which the command gormflake uses the layout, each followed
// by a space. The result is empty for the layout of Twitter, which is the default of the
// command.
func layoutFlags(l snowflake.Layout) string {
	switch l {
	case snowflake.TwitterLayout():
		return ""
	case snowflake.JSSafeLayout():
		return "--layout js-safe "
	}
	return fmt.Sprintf("--epoch %s --tick %v --datacenter-bits %d --worker-bits %d --sequence-bits %d --total-bits %d ",
		l.Epoch.UTC().Format(time.RFC3339Nano), l.Tick, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.TotalBits)
}
