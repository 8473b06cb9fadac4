package model

import (
	"context"
	"fmt"
	"sync"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// maxPooled is the largest buffer, in IDs, that the pool keeps, so that one huge statement
// does not hold its memory.
const maxPooled = 1 << 16

// Set holds the generators, models and buffers that all statements of one plugin share.
// It is safe for concurrent use.
type Set struct {
	Unparked bool // accept unparked counters of listed models; set before use

	generators generators
	models     sync.Map // *schema.Schema to *Model
	buffers    sync.Pool
}

// NewSet returns a set with the generators gens, by the names that the tag option gen= uses.
// The default generator has the name "".
func NewSet(gens map[string]Generator) *Set { return &Set{generators: gens} }

// Model returns the model of s, which it parses once and caches. It only reads s, because
// all goroutines of the program share the schema. The model of a generated join table has
// no columns, but may have an error.
func (set *Set) Model(s *schema.Schema) *Model {
	if m, ok := set.models.Load(s); ok {
		return m.(*Model)
	}
	parsed := parseModel(s, set.generators)
	if isJoinTable(s) {
		parsed.Err = set.CheckJoinTable(s)
	}
	m, _ := set.models.LoadOrStore(s, parsed)
	return m.(*Model)
}

// CheckJoinTable returns an error if s is a struct that GORM generated for a join table,
// and lacks a tagged column that another model of the same table has. For example, the
// program has a model Play with a tagged ID for the table plays, and a many2many relation
// uses that table. GORM would insert the join rows without an ID.
func (set *Set) CheckJoinTable(s *schema.Schema) (err error) {
	if !isJoinTable(s) {
		return nil
	}
	set.models.Range(func(key, value any) (goOn bool) {
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

// Generate returns n new IDs for the columns of g, in a buffer from the pool. The caller
// passes the buffer to [Set.Recycle] after use. The result is a pointer to a slice, because
// the pool would otherwise allocate for each slice that Recycle puts into it.
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
	// The buffer may contain IDs of an earlier statement. A generator that skips elements
	// would leave these there, and checkIDs could not notice it.
	clear(*ids)
	if err := g.fill(ctx, *ids); err != nil {
		return nil, fmt.Errorf("generator%s: %w", quotedGen(g.genName), err)
	}
	if err := g.checkIDs(*ids); err != nil {
		return nil, err
	}
	return ids, nil
}

// Recycle returns a buffer to the pool, unless it is larger than maxPooled.
func (set *Set) Recycle(ids *[]types.ID) {
	if cap(*ids) <= maxPooled {
		set.buffers.Put(ids)
	}
}
