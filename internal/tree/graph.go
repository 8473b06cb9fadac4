package tree

import (
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// graph describes the trees of one shape. It contains the models that can be reached from
// the root, and the relations between them.
type graph struct {
	root      *edge   // leads to the first rows of the tree
	nodes     []*node // the models, parents before children
	numBlocks int     // number of blocks of IDs to generate, one for each model and generator

	// needsRepeat is set if a link may replace a row's key after other rows refer to it,
	// or after a serial number was made from it. The keyPass then runs several times.
	needsRepeat bool
}

// node is a model of the graph. Its groups are the tagged columns by generator. Its edges are
// its relations, belongs-to first, because other relations may refer to a key that a
// belongs-to relation sets.
type node struct {
	index      int // index among the nodes of the graph
	schema     *schema.Schema
	groups     []*model.Group
	firstBlock int // index of the first group's block of IDs; the blocks of its other groups follow
	edges      []*edge

	// keyMayChange is set if a relation may replace the keys of the node's rows, because the key
	// is also a foreign key. ownKeyIsForeign is also set if the node itself declares that
	// relation.
	keyMayChange, ownKeyIsForeign bool

	// shared is set if the walk may reach a row of the node twice, or in a cycle. A row of a
	// node that is not shared is inside its only owner or the owner's slice, so the walk need
	// not record that it has visited the row.
	shared bool
}

// edge is a relation, in the direction from the model that declares the field to the related
// model. For example, Order.Lines leads from Order to Line.
type edge struct {
	name      string        // such as Order.Lines
	field     *model.Column // the field that holds the related rows, nil for the root
	target    *node         // the related model
	belongsTo bool
	links     []*link // the columns that GORM sets when it saves the relation
	refused   error   // set if the foreign key cannot hold the key; Assign returns it for rows of the relation

	// rowSize is the size of a row if the relation is a slice of structs whose visits the
	// walk does not record, and otherwise 0. A countPass finds such slices that overlap.
	rowSize uintptr

	backPointers []*edge // relations of the target that lead back to this edge's model by the same foreign key
}

// isParent reports whether the model that declares the relation is the parent, as in a has-one
// or has-many relation. A many-to-many relation has no parent, and no links.
func (e *edge) isParent() bool { return !e.belongsTo && len(e.links) > 0 }

// isBackPointer reports whether back is the belongs-to relation that leads back along e, as
// Line.Order for Order.Lines. Both then set the same foreign key from the same column.
func (e *edge) isBackPointer(back *edge) bool {
	return back.belongsTo && slices.ContainsFunc(e.links, func(l *link) bool {
		return slices.ContainsFunc(back.links, func(b *link) bool {
			return l.from != nil && l.to.Field == b.to.Field && l.from.Field == b.from.Field
		})
	})
}

// markParents sets rowSize and backPointers of the edges from parents to children. A
// countPass uses both to notice that a child may have two parents. It needs rowSize to
// find two slices of structs that overlap in memory. It needs backPointers to find a child
// that points back to a row other than its parent. An edge to a shared node needs no
// rowSize, because the walk records which rows of that node it has visited.
func markParents(nodes []*node) {
	for _, n := range nodes {
		for _, e := range n.edges {
			if !e.isParent() {
				continue
			}
			if t := e.field.Field.FieldType; !e.target.shared && t.Kind() == reflect.Slice {
				e.rowSize = t.Elem().Size()
			}
			for _, back := range e.target.edges {
				if e.isBackPointer(back) {
					e.backPointers = append(e.backPointers, back)
				}
			}
		}
	}
}

// mayChangeKey reports whether the relation sets a primary key of the related model, because
// that key is also its foreign key.
func (e *edge) mayChangeKey() bool {
	return !e.belongsTo && slices.ContainsFunc(e.links, func(l *link) bool { return l.to.Field.PrimaryKey })
}

// markRelays sets fromLinked and toRelay of the links. A relay is an untagged column that
// one link sets and another link reads. For example, Line.OrderID is part of Line's
// composite primary key. Order.Lines sets it, and Line.Parts copies it to Part.OrderID.
func markRelays(nodes []*node) {
	// The untagged columns that links read, and the columns that links set.
	sources, targets := map[*schema.Field]bool{}, map[*schema.Field]bool{}
	forEachLink := func(do func(*link)) {
		for _, n := range nodes {
			for _, e := range n.edges {
				for _, l := range e.links {
					do(l)
				}
			}
		}
	}
	forEachLink(func(l *link) {
		targets[l.to.Field] = true
		if l.from != nil && !l.tagged {
			sources[l.from.Field] = true
		}
	})
	forEachLink(func(l *link) {
		l.fromLinked = l.from != nil && targets[l.from.Field]
		l.toRelay = sources[l.to.Field]
	})
}

// sorted returns the nodes with parents before children, unless the relations form a
// cycle. It adds each node after its children, and reverses the list in the end.
func sorted(nodes []*node) []*node {
	children := map[*node][]*node{}
	for _, n := range nodes {
		for _, e := range n.edges {
			if e.belongsTo {
				children[e.target] = append(children[e.target], n)
			} else {
				children[n] = append(children[n], e.target)
			}
		}
	}
	order := make([]*node, 0, len(nodes))
	seen := map[*node]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, child := range children[n] {
			visit(child)
		}
		order = append(order, n)
	}
	for _, n := range nodes {
		visit(n)
	}
	slices.Reverse(order)
	return order
}

// markCycles marks a node as shared in each cycle of relations that are slices of structs,
// for example Category.Children. The walk then records its visits, and ends even if such a
// slice contains itself. A cycle with a pointer has a shared node already.
func markCycles(nodes []*node) {
	for _, n := range nodes {
		n.shared = n.shared || n.reaches(n, map[*node]bool{})
	}
}

// reaches reports whether relations lead from n to end, by nodes that are not shared and
// not in seen.
func (n *node) reaches(end *node, seen map[*node]bool) bool {
	for _, e := range n.edges {
		if e.target == end {
			return true
		}
		if e.target.shared || seen[e.target] {
			continue
		}
		seen[e.target] = true
		if e.target.reaches(end, seen) {
			return true
		}
	}
	return false
}
