package sqlmigrate

import (
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

const accepted = `want the name of a table or a GORM model`

// configure reads targets and options, and reports every mistake at once.
func configure(db *gorm.DB, targets []any, opts []Option) (*config, error) {
	c := &config{layout: snowflake.TwitterLayout()}
	var errs []error
	for i, target := range targets {
		if err := c.add(db, target); err != nil {
			errs = append(errs, fmt.Errorf("sqlmigrate: target %d: %w", i+1, err))
		}
	}
	errs = append(errs, option.Apply("sqlmigrate", opts, func(o Option) error { return o.apply(c) }))
	return c, errors.Join(errs...)
}

func (c *config) add(db *gorm.DB, target any) error {
	switch target := target.(type) {
	case nil:
		return errors.New("nil: " + accepted)
	case Option:
		return errors.New("it is an option: pass it to InspectWith: " + accepted)
	case string:
		table, err := engine.ParseTable(target)
		if err != nil {
			return err
		}
		c.tables = engine.AppendNew(c.tables, table)
		return nil
	default:
		return c.addModel(db, target)
	}
}

// addModel adds the table of a model, and what it knows of references.
func (c *config) addModel(db *gorm.DB, model any) error {
	stmt := &gorm.Statement{DB: db.Session(&gorm.Session{NewDB: true})}
	if err := stmt.Parse(model); err != nil {
		return fmt.Errorf("%T: %w: %s", model, err, accepted)
	}
	table, err := tableOfModel(stmt.Schema.Table)
	if err != nil {
		return fmt.Errorf("%T: %w", model, err)
	}
	c.tables = engine.AppendNew(c.tables, table)
	references, err := modelReferences(stmt.DB, stmt.Schema)
	if err != nil {
		return fmt.Errorf("%T: %w", model, err)
	}
	c.modelled = append(c.modelled, references...)
	return nil
}

// tableOfModel splits a name as GORM does where it quotes it.
func tableOfModel(name string) (engine.TableName, error) {
	parts := strings.Split(name, ".")
	for _, part := range parts {
		if part == "" || len(parts) > 2 {
			return engine.TableName{}, fmt.Errorf("its table is named %q: want table or schema.table", name)
		}
	}
	return engine.TableOf(parts), nil
}
