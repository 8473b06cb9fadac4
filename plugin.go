package gormflake

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/check"
	"github.com/gormflake/gormflake/internal/fill"
	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/tree"
)

const (
	pluginName     = guard.PluginName
	fillCallback   = "gormflake:fill"   // before all others of a create
	insertCallback = "gormflake:insert" // just before the INSERT
	foundCallback  = "gormflake:found"  // just after the INSERT
	updateCallback = "gormflake:update" // before all others of an update
)

// Plugin is the GORM plugin that [New] creates. It is safe for concurrent use, and one
// Plugin may serve several databases.
type Plugin struct {
	err    error       // mistakes in the arguments of New, which Initialize returns
	gen    Generator   // the default generator, for tags without gen=
	set    *model.Set  // all generators, and a cache of the tagged columns of models
	models []any       // of WithModels
	graphs tree.Graphs // a cache of the relations of models that Assign has walked
}

var _ gorm.Plugin = (*Plugin)(nil)

// New returns a plugin that fills tagged columns with IDs of gen. The caller closes gen.
//
// New itself returns no error. [gorm.DB.Use] returns all mistakes in gen and opts.
func New(gen Generator, opts ...Option) *Plugin {
	cfg, err := newConfig(opts)
	if cfg.openOnly != "" {
		err = errors.Join(fmt.Errorf("gormflake: New: %s is for Open: pass the option to Open, or to what creates the generator", cfg.openOnly), err)
	}
	p := newPlugin(gen, cfg)
	p.err = errors.Join(checkGenerator("New", gen), err)
	return p
}

// newPlugin returns a plugin with gen as the default generator, for tags without gen=, and
// with the options in cfg.
func newPlugin(gen Generator, cfg *config) *Plugin {
	cfg.generators[""] = gen
	set := model.NewSet(cfg.generators)
	set.Unparked = cfg.unparked
	return &Plugin{gen: gen, set: set, models: cfg.models}
}

// Name returns "gormflake", the key of the plugin in the GORM configuration.
func (p *Plugin) Name() string { return pluginName }

// Initialize registers the plugin's callbacks for creates and updates. [gorm.DB.Use] calls
// it. It may be called again for the same or another database, as the plugin dbresolver does
// for replicas. Initialize also treats the keys of the models of [WithModels] as tagged. On
// SQLite it registers a callback that preserves a table's auto-increment counter when GORM's
// migrator rebuilds the table.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p.err != nil {
		return p.err
	}
	keys, err := untaggedKeys(db, p.models)
	if err := errors.Join(err, checkGeneratorLayout(p.gen, keys)); err != nil {
		return err
	}
	for _, key := range keys { // after all checks, so that an error changes no model
		model.Adopt(key, db.Name())
	}
	create, update := db.Callback().Create(), db.Callback().Update()
	return errors.Join(
		register(create, create.Before("*"), fillCallback, p.beforeCreate),
		register(create, create.Before("gorm:create"), insertCallback, p.beforeInsert),
		register(create, create.After("gorm:create").Before("gorm:save_after_associations"), foundCallback, p.afterInsert),
		register(update, update.Before("*"), updateCallback, p.beforeUpdate),
		check.KeepInRebuilds(db),
	)
}

// beforeCreate sets the keys of the rows at the beginning of a create, before user hooks and
// before the transaction begins.
func (p *Plugin) beforeCreate(db *gorm.DB) { fill.Create(db, p.set) }

// beforeInsert checks the keys of the rows again just before the INSERT, because a hook may
// have changed the rows or the statement. For a statement that is [gorm.DB.Unscoped] it also
// calls [guard.Check], because GORM then ignores the clause of types.ID that rejects rows
// without keys.
func (p *Plugin) beforeInsert(db *gorm.DB) {
	fill.BeforeInsert(db, p.set)
	if db.Statement.Unscoped {
		guard.Check(db)
	}
}

// afterInsert handles an upsert that has found existing rows. It sets the keys of these rows in
// the caller's structs, in place of the new keys that beforeCreate has set.
func (p *Plugin) afterInsert(db *gorm.DB) { fill.AfterInsert(db, p.set) }

// beforeUpdate checks that the foreign keys of related rows can hold the rows' keys, because
// GORM also creates related rows in an update, for example in Association.Append and in Save
// of an existing parent.
func (p *Plugin) beforeUpdate(db *gorm.DB) { fill.BeforeUpdate(db, p.set) }

// register adds a callback to the processor, which holds GORM's callbacks of all creates or
// of all updates. position is where the callback stands among them, for example
// create.Before("gorm:create"). If an earlier call of Initialize has registered the callback,
// register replaces it, because GORM warns of a name that is registered twice.
func register(processor getter, position registrar, name string, callback func(*gorm.DB)) error {
	add := position.Register
	if processor.Get(name) != nil {
		add = position.Replace
	}
	if err := add(name, callback); err != nil {
		return fmt.Errorf("gormflake: register the callback %s: %w", name, err)
	}
	return nil
}

// getter and registrar are interfaces of two types that GORM does not export, the processor
// and the position of a callback. They have the methods that register calls.
type (
	getter interface {
		Get(name string) func(*gorm.DB)
	}
	registrar interface {
		Register(name string, callback func(*gorm.DB)) error
		Replace(name string, callback func(*gorm.DB)) error
	}
)

// checkOpened returns an error if db cannot run a statement, because db is nil or because
// the gorm.Open that returned db failed. gorm.Open returns an incomplete handle together with
// its error, and a program may have ignored the error.
func checkOpened(db *gorm.DB) error {
	if db == nil || db.Config == nil || db.Dialector == nil || db.Statement == nil {
		return errors.New("db is nil or was not opened: want the handle that gorm.Open returned without an error")
	}
	return nil
}

// pluginOf returns the plugin that is registered with db, or an error if db has none.
func pluginOf(db *gorm.DB) (*Plugin, error) {
	if err := checkOpened(db); err != nil {
		return nil, fmt.Errorf("gormflake: %w", err)
	}
	if p, ok := db.Plugins[pluginName].(*Plugin); ok {
		return p, nil
	}
	return nil, errors.New("gormflake: the plugin is not registered: call gormflake.Open, or db.Use(gormflake.New(gen)), first")
}

// Skip returns a context under which the plugin fills nothing, neither in the statement
// nor in the associations that the statement saves:
//
//	db.WithContext(gormflake.Skip(ctx)).Create(&row)
//
// GORM then builds the statement as it does without the plugin. A model that still has
// auto-increment therefore gets its keys from the database. The create returns an error
// if it would write a tagged primary key as 0 or NULL. Set the key, or Omit the field if
// the database assigns it.
func Skip(ctx context.Context) context.Context {
	return guard.Skip(ctx)
}
