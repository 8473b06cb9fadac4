package gormflake

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// graphKey tells trees apart that are walked in different ways.
type graphKey struct {
	root     *schema.Schema
	pointers bool // the root rows stand behind pointers
}

// graph returns the cached graph of the trees like root.
func (p *Plugin) graph(stmt *gorm.Statement, root reflect.Value) (*graph, error) {
	s, err := parse(stmt, modelType(root.Type()))
	if err != nil {
		return nil, err
	}
	key := graphKey{root: s, pointers: throughPointer(root.Type())}
	if g, ok := p.graphs.Load(key); ok {
		return g.(*graph), nil
	}
	b := builder{set: p.set, stmt: stmt, nodes: map[*schema.Schema]*node{}}
	g, err := b.build(s)
	if err != nil {
		return nil, err
	}
	g.root.target.tracked = g.root.target.tracked || key.pointers
	g.unsettled = slices.ContainsFunc(g.nodes, func(n *node) bool { return n.rekeyed && n.tracked || n.linked })
	p.graphs.Store(key, g)
	return g, nil
}

type builder struct {
	set   *model.Set
	stmt  *gorm.Statement
	nodes map[*schema.Schema]*node
	found []*node
}

func (b *builder) build(s *schema.Schema) (*graph, error) {
	root, err := b.node(s)
	if err != nil {
		return nil, err
	}
	g := &graph{root: &edge{name: s.Name, target: root}, nodes: sorted(b.found)}
	for i, n := range g.nodes {
		n.index = i
		n.slot = g.slots
		g.slots += len(n.groups)
	}
	if g.slots == 0 {
		return nil, fmt.Errorf(`gormflake: Assign: model %s and its relations have no tagged field: tag the key with snowflake:"pk"`, s.Name)
	}
	markRelays(b.found)
	markCircles(b.found)
	return g, nil
}

func (b *builder) node(s *schema.Schema) (*node, error) {
	if n, ok := b.nodes[s]; ok {
		return n, nil
	}
	m := b.set.Model(s)
	if m.Err != nil {
		return nil, m.Err
	}
	n := &node{schema: s, groups: m.Groups}
	b.nodes[s] = n
	b.found = append(b.found, n)
	r := &s.Relationships
	for _, rel := range slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many) {
		e, err := b.edge(rel)
		if err != nil {
			return nil, err
		}
		e.target.tracked = e.target.tracked || throughPointer(rel.Field.FieldType)
		e.target.rekeyed = e.target.rekeyed || e.rekeys()
		n.edges = append(n.edges, e)
		if m.KeyReplacedBy(rel) {
			n.rekeyed, n.linked = true, true
		}
	}
	return n, nil
}

func (b *builder) edge(rel *schema.Relationship) (*edge, error) {
	// The schema in rel may still be in the making by another goroutine; parsing waits for it.
	s, err := parse(b.stmt, rel.FieldSchema.ModelType)
	if err != nil {
		return nil, err
	}
	target, err := b.node(s)
	if err != nil {
		return nil, err
	}
	e := &edge{
		name:      rel.Schema.Name + "." + rel.Field.BindName(),
		field:     model.NewColumn(rel.Field),
		target:    target,
		belongsTo: rel.Type == schema.BelongsTo,
	}
	if rel.Type != schema.Many2Many {
		e.links, err = b.links(rel)
	}
	return e, err
}

// parse returns the schema that the create callback would see for t.
func parse(stmt *gorm.Statement, t reflect.Type) (*schema.Schema, error) {
	if err := stmt.Parse(reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("gormflake: Assign: model %s: %w", t, err)
	}
	return stmt.Schema, nil
}
