package sqlmigrate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// wantTarget ends the errors about a target.
const wantTarget = `want the name of a table or a GORM model`

// configure returns the config of targets and options, with the default layout unless an
// option sets another. Its error lists every mistake.
func configure(db *gorm.DB, targets []any, opts []Option) (*config, error) {
	c := &config{layout: snowflake.TwitterLayout()}
	var errs []error
	for i, target := range targets {
		if err := c.addTarget(db, target); err != nil {
			errs = append(errs, fmt.Errorf("sqlmigrate: target %d: %w", i+1, err))
		}
	}
	errs = append(errs, option.Apply("sqlmigrate", opts, func(o Option) error { return o.apply(c) }))
	return c, errors.Join(errs...)
}

// addTarget adds a target, which is the name of a table or a GORM model.
func (c *config) addTarget(db *gorm.DB, target any) error {
	switch target := target.(type) {
	case nil:
		return errors.New("nil: " + wantTarget)
	case Option:
		return errors.New("it is an option: pass it to InspectWith: " + wantTarget)
	case string:
		table, err := plan.ParseTable(target)
		if err != nil {
			return err
		}
		c.tables = engine.AppendNew(c.tables, table)
		return nil
	default:
		return c.addModel(db, target)
	}
}

// addModel adds the table of a model and the references of its associations.
func (c *config) addModel(db *gorm.DB, model any) error {
	stmt := &gorm.Statement{DB: db.Session(&gorm.Session{NewDB: true})}
	if err := stmt.Parse(model); err != nil {
		return fmt.Errorf("%T: %w: %s", model, err, wantTarget)
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
	c.fromModels = append(c.fromModels, references...)
	return nil
}

// tableOfModel splits the name of a model's table into schema and table at the dot, as
// GORM does when it quotes the name.
func tableOfModel(name string) (plan.TableName, error) {
	parts := strings.Split(name, ".")
	for _, part := range parts {
		if part == "" || len(parts) > 2 {
			return plan.TableName{}, fmt.Errorf("its table is named %q: want table or schema.table", name)
		}
	}
	return plan.TableOf(parts), nil
}

// modelReferences returns the columns that hold keys of another model's table. It
// searches the model, all models that associations connect with it, directly or
// indirectly, and their join tables. Where the database has no constraint, models are the
// only source of these references.
func modelReferences(db *gorm.DB, s *schema.Schema) ([]engine.Reference, error) {
	w := modelWalk{db: db, seen: map[*schema.Schema]bool{}}
	err := w.visit(s)
	return w.references, err
}

// A modelWalk visits the schemas of connected models and collects their references.
type modelWalk struct {
	db         *gorm.DB
	seen       map[*schema.Schema]bool
	references []engine.Reference
}

// visit collects the references of s and of all schemas that s leads to. A schema that
// was seen before is skipped, because models may refer to each other in a circle.
func (w *modelWalk) visit(s *schema.Schema) error {
	if s == nil || w.seen[s] {
		return nil
	}
	w.seen[s] = true
	for _, rel := range relationsOf(s) {
		for _, ref := range rel.References {
			w.addReference(ref)
		}
		if err := w.visitRelated(rel.FieldSchema); err != nil {
			return err
		}
		// GORM builds the schema of a join table itself, so there is no model to parse
		// again.
		if err := w.visit(rel.JoinTable); err != nil {
			return err
		}
	}
	return nil
}

// visitRelated visits s, the schema of a related model, after it has parsed the model of s
// again. If another goroutine is parsing the same model, Parse waits for its end. Otherwise
// s might not have its own relations yet.
func (w *modelWalk) visitRelated(s *schema.Schema) error {
	if s == nil || w.seen[s] {
		return nil
	}
	stmt := &gorm.Statement{DB: w.db}
	if err := stmt.Parse(reflect.New(s.ModelType).Interface()); err != nil {
		return err
	}
	return w.visit(s)
}

// relationsOf returns the relations that the model of s declares, and the relations in the
// map of s. GORM adds a relation to this map when it parses another model that refers to
// the model of s. The map alone is not sufficient. If embedded structs have several fields
// of the same name, it has only one of them. GORM may add a relation at any time, so the
// map is read under its lock.
func relationsOf(s *schema.Schema) []*schema.Relationship {
	declared := model.Relations(s)
	defer model.ReadLock(s)()
	return slices.AppendSeq(declared, maps.Values(s.Relationships.Relations))
}

// addReference records the reference, from GORM's ForeignKey to its PrimaryKey. The
// referenced column does not have to be a key, because it can itself hold keys of another
// table. A reference of a table whose name has too many parts, such as a.b.c, is left out,
// because such a table cannot exist.
func (w *modelWalk) addReference(ref *schema.Reference) {
	if ref.PrimaryKey == nil || ref.ForeignKey == nil { // the type column of a polymorphic association
		return
	}
	from, errFrom := tableOfModel(ref.ForeignKey.Schema.Table)
	to, errTo := tableOfModel(ref.PrimaryKey.Schema.Table)
	if errFrom == nil && errTo == nil {
		w.references = append(w.references, engine.Reference{Table: from, Column: ref.ForeignKey.DBName, ToTable: to, ToColumn: ref.PrimaryKey.DBName})
	}
}
