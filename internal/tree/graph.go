package tree

import (
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// graph is what Assign knows about trees of one shape: the models that can be
// reached from the root and the relations between them.
type graph struct {
	root  *edge
	nodes []*node // parents before children
	slots int     // blocks of IDs to generate: one per model and generator

	// needsRepeat graphs have rows whose keys a link may replace after other rows
	// refer to them, or after a serial number was made from them.
	needsRepeat bool
}

// node is a model of the graph.
type node struct {
	index  int // among the nodes of the graph
	schema *schema.Schema
	groups []*model.Group
	slot   int     // of the first group
	edges  []*edge // belongs-to first: other relations may refer to a key that one brings

	// A link may replace the keys of the node's rows if keyMayChange is set, and
	// a relation of the node itself may do so if ownKeyIsForeign is set too.
	keyMayChange, ownKeyIsForeign bool

	// The walk may meet rows of a shared node twice, or in a cycle. Rows of other
	// nodes are in the slice of their only owner, so the walk records no visits.
	shared bool
}

// edge is a relation, seen from the model that has the field.
type edge struct {
	name      string
	field     *model.Column // nil for the root
	target    *node
	belongsTo bool
	links     []*link
	refused   error // for rows of the relation, which cannot hold a key

	rowSize uintptr // of rows in slices that two parents may share unseen, else 0
	backs   []*edge // relations of the target that are this one, seen from there
}

// isParent reports whether the model that has the field is the parent.
func (e *edge) isParent() bool { return !e.belongsTo && len(e.links) > 0 }

// isBack reports whether back sets a foreign key to the value to which e sets it.
func (e *edge) isBack(back *edge) bool {
	return back.belongsTo && slices.ContainsFunc(e.links, func(l *link) bool {
		return slices.ContainsFunc(back.links, func(b *link) bool {
			return l.from != nil && l.to.Field == b.to.Field && l.from.Field == b.from.Field
		})
	})
}

// markParents prepares the search for rows with two parents.
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
				if e.isBack(back) {
					e.backs = append(e.backs, back)
				}
			}
		}
	}
}

// mayChangeKey reports whether a link of the relation sets a key of the target.
func (e *edge) mayChangeKey() bool {
	return !e.belongsTo && slices.ContainsFunc(e.links, func(l *link) bool { return l.to.Field.PrimaryKey })
}

// markRelays finds the columns that one link sets and another reads.
func markRelays(nodes []*node) {
	sources, targets := map[*schema.Field]bool{}, map[*schema.Field]bool{}
	each := func(do func(*link)) {
		for _, n := range nodes {
			for _, e := range n.edges {
				for _, l := range e.links {
					do(l)
				}
			}
		}
	}
	each(func(l *link) {
		targets[l.to.Field] = true
		if l.from != nil && !l.tagged {
			sources[l.from.Field] = true
		}
	})
	each(func(l *link) {
		l.fromLinked = l.from != nil && targets[l.from.Field]
		l.toRelay = sources[l.to.Field]
	})
}

// sorted puts parents before children, unless the relations form a cycle.
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

// markCycles marks a node of each cycle that runs through value slices only, so
// that a walk ends even if such slices contain themselves.
func markCycles(nodes []*node) {
	for _, n := range nodes {
		n.shared = n.shared || n.reaches(n, map[*node]bool{})
	}
}

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
