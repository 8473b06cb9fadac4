package tree

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// graphKey identifies trees that share a graph.
type graphKey struct {
	root     *schema.Schema // the model of the first rows
	pointers bool           // the first rows are behind pointers, as in []*Order
}

// canShareRow reports whether two values of type t can contain the same row, because they hold
// their rows by pointers. It returns true for *Line and []*Line, and false for []Line.
func canShareRow(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() == reflect.Pointer
}

// build returns the graph of the trees that have this key.
func build(stmt *gorm.Statement, set *model.Set, key graphKey) (*graph, error) {
	b := builder{stmt: stmt, set: set}
	root, err := b.node(key.root)
	if err != nil {
		return nil, err
	}
	g := &graph{root: &edge{name: key.root.Name, target: root}, nodes: sorted(b.found)}
	// Each model has a block of IDs for each of its generators.
	for i, n := range g.nodes {
		n.index = i
		n.firstBlock = g.numBlocks
		g.numBlocks += len(n.groups)
	}
	if g.numBlocks == 0 {
		return nil, fmt.Errorf(`gormflake: Assign: model %s and its relations have no tagged field: tag the key with snowflake:"pk"`, key.root.Name)
	}
	// markParents comes last, because it reads shared, which the lines before it complete.
	markRelays(g.nodes)
	markCycles(b.found)
	root.shared = root.shared || key.pointers
	markParents(g.nodes)
	// The walk may reach a shared row again, and then replace a key that other rows have copied.
	// A belongs-to relation sets the row's own key after serial numbers were made from it.
	g.needsRepeat = slices.ContainsFunc(g.nodes, func(n *node) bool { return n.keyMayChange && n.shared || n.ownKeyIsForeign })
	return g, nil
}

// builder finds the nodes of a graph, and creates each once.
type builder struct {
	stmt  *gorm.Statement
	set   *model.Set
	found []*node
}

// node returns the node of a model. For a new node, it follows all relations of the model. For
// each related model it notes whether a walk can reach a row twice (shared), and whether
// GORM may replace a row's key when it saves the relation (keyMayChange).
func (b *builder) node(s *schema.Schema) (*node, error) {
	if i := slices.IndexFunc(b.found, func(n *node) bool { return n.schema == s }); i >= 0 {
		return b.found[i], nil
	}
	m := b.set.Model(s)
	if m.Err != nil {
		return nil, m.Err
	}
	n := &node{schema: s, groups: m.Groups}
	b.found = append(b.found, n) // before its relations, which may lead back to it
	for _, rel := range model.Relations(s) {
		e, err := b.edge(rel)
		if err != nil {
			return nil, err
		}
		e.refused = m.RefusedBy(rel) // an error if the foreign key cannot hold the key, else nil
		e.target.shared = e.target.shared || canShareRow(rel.Field.FieldType)
		e.target.keyMayChange = e.target.keyMayChange || e.mayChangeKey()
		n.edges = append(n.edges, e)
		if m.KeyReplacedBy(rel) { // because the model's own key is the foreign key of rel
			n.keyMayChange, n.ownKeyIsForeign = true, true
		}
	}
	return n, nil
}

// edge returns the edge of a relation, and adds the related model to the nodes.
func (b *builder) edge(rel *schema.Relationship) (*edge, error) {
	// Another goroutine may still be parsing the related model. GORM's Parse waits for it.
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
	if rel.Type != schema.Many2Many { // whose foreign keys are in the join table
		e.links, err = b.links(rel)
	}
	return e, err
}

// links returns the links for the columns that GORM sets when it saves the relation.
func (b *builder) links(rel *schema.Relationship) ([]*link, error) {
	var links []*link
	for _, ref := range rel.References {
		// OwnPrimaryKey is set if the key is in the model that declares the relation, and not in
		// the related model. The declaring model is the parent, unless the relation is a
		// belongs-to relation. So both are true, or both are false, if the parent has the key.
		declaredByParent := rel.Type != schema.BelongsTo
		switch {
		case ref.PrimaryKey != nil && ref.OwnPrimaryKey == declaredByParent:
			links = append(links, reference(ref.PrimaryKey, ref.ForeignKey))
		case ref.PrimaryValue != "": // polymorphic, so it cannot be a belongs-to relation
			l := &link{to: model.NewColumn(ref.ForeignKey), constant: ref.PrimaryValue, kind: linkBySetter}
			if err := l.trySet(b.stmt.Context, l.constant); err != nil {
				return nil, fmt.Errorf("gormflake: Assign: %w", err)
			}
			links = append(links, l)
		}
	}
	return links, nil
}

// parse returns the schema of the model t, from the same cache as in a create.
func parse(stmt *gorm.Statement, t reflect.Type) (*schema.Schema, error) {
	if err := stmt.Parse(reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("gormflake: Assign: model %s: %w", t, err)
	}
	return stmt.Schema, nil
}
