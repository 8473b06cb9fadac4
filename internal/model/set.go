package model

import (
	"context"
	"fmt"
	"sync"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// maxPooled limits the buffers that the pool keeps, in IDs.
const maxPooled = 1 << 16

// Set is what all statements of one plugin share: its generators, its models
// and its buffers. It is safe for concurrent use.
type Set struct {
	Unparked bool // counters of listed models are no mistake; set before use

	generators generators
	models     sync.Map // *schema.Schema to *Model
	buffers    sync.Pool
}

// NewSet returns a set that uses these generators, by name.
func NewSet(gens map[string]Generator) *Set { return &Set{generators: gens} }

// Model returns the cached model of s. The schema itself is shared by all
// goroutines of the program and is only read.
func (set *Set) Model(s *schema.Schema) *Model {
	if m, ok := set.models.Load(s); ok {
		return m.(*Model)
	}
	parsed := parse(s, set.generators)
	if isJoinTable(s) {
		parsed.Err = set.CheckJoinTable(s)
	}
	m, _ := set.models.LoadOrStore(s, parsed)
	return m.(*Model)
}

// CheckJoinTable returns an error if s is a struct that GORM made for a join table, and
// the set has a model of the same table with a tagged column that the struct lacks. GORM
// would insert rows without it.
func (set *Set) CheckJoinTable(s *schema.Schema) (err error) {
	if !isJoinTable(s) {
		return nil
	}
	set.models.Range(func(key, value any) bool {
		other := key.(*schema.Schema)
		if other.Table != s.Table || isJoinTable(other) {
			return true
		}
		for _, c := range value.(*Model).Columns {
			if s.FieldsByDBName[c.Field.DBName] == nil {
				err = fmt.Errorf("gormflake: GORM creates the rows of the join table %s without %s, which is tagged: call db.SetupJoinTable with %s, once for each relation that has the table, before its first use",
					s.Table, c.Name(), other.Name)
			}
		}
		return err == nil
	})
	return err
}

// Generate returns n new IDs for the columns of g, in a buffer that the caller
// passes to [Set.Recycle] after use.
func (set *Set) Generate(ctx context.Context, g *Group, n int) (*[]types.ID, error) {
	ids, _ := set.buffers.Get().(*[]types.ID)
	if ids == nil {
		ids = new([]types.ID)
	}
	if cap(*ids) < n {
		*ids = make([]types.ID, n)
	}
	*ids = (*ids)[:n]
	if n == 0 {
		return ids, nil
	}
	// A generator that skips elements must not return the last statement's IDs.
	clear(*ids)
	if err := g.fill(ctx, *ids); err != nil {
		return nil, fmt.Errorf("generator%s: %w", quotedGen(g.gen), err)
	}
	if err := g.checkIDs(*ids); err != nil {
		return nil, err
	}
	return ids, nil
}

// Recycle returns a buffer to the pool.
func (set *Set) Recycle(ids *[]types.ID) {
	if cap(*ids) <= maxPooled {
		set.buffers.Put(ids)
	}
}

// Generator is gormflake.Generator, which this package cannot import.
type Generator interface {
	Fill(ctx context.Context, dst []types.ID) error
}

// TableGenerator is gormflake.TableGenerator.
type TableGenerator interface {
	FillTable(ctx context.Context, table string, dst []types.ID) error
	Observe(table string, id types.ID)
}

// generators are found by the names that tags use; "" is the default one.
type generators map[string]Generator

// quotedGen names a generator in a message, unless it is the default one.
func quotedGen(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}
