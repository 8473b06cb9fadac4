package gormflake

import (
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// graph is what Assign knows about one kind of tree: the models that can be
// reached from its root and the relations between them.
type graph struct {
	root  *edge
	nodes []*node // masters before details
	slots int     // blocks of keys to ask for: one per model and generator

	// unsettled graphs have rows whose keys a link may replace after they were
	// handed on, or made into a serial number.
	unsettled bool
}

// node is a model of the graph.
type node struct {
	index  int // among the nodes of the graph
	schema *schema.Schema
	groups []*model.Group // tagged columns by generator
	slot   int            // of the first group
	edges  []*edge        // belongs-to first: other relations may hand on a key that one brings

	// rekeyed nodes have rows whose keys a link may replace, linked ones by
	// relations of their own.
	rekeyed, linked bool

	// tracked nodes can be met twice, or in a circle. Others have rows that lie
	// in the slice of their only owner, and need no record of the visit.
	tracked bool
}

// edge is a relation, seen from the model that has the field.
type edge struct {
	name      string
	field     *model.Column // nil for the root
	target    *node
	belongsTo bool
	links     []*link
}

// rekeys reports whether a link of the relation ends in a key of the target.
func (e *edge) rekeys() bool {
	return !e.belongsTo && slices.ContainsFunc(e.links, func(l *link) bool { return l.to.Field.PrimaryKey })
}

// markRelays finds the columns that hand on what they get by a link.
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
		l.fromRelay = l.from != nil && !l.tagged && targets[l.from.Field]
		l.toRelay = sources[l.to.Field]
	})
}

// sorted puts masters before details, as far as the relations form no circle.
func sorted(nodes []*node) []*node {
	details := map[*node][]*node{}
	for _, n := range nodes {
		for _, e := range n.edges {
			if e.belongsTo {
				details[e.target] = append(details[e.target], n)
			} else {
				details[n] = append(details[n], e.target)
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
		for _, detail := range details[n] {
			visit(detail)
		}
		order = append(order, n)
	}
	for _, n := range nodes {
		visit(n)
	}
	slices.Reverse(order)
	return order
}

// markCircles tracks a node of each circle that runs through value slices only,
// so that a walk ends even where such slices contain themselves.
func markCircles(nodes []*node) {
	for _, n := range nodes {
		n.tracked = n.tracked || n.reaches(n, map[*node]bool{})
	}
}

func (n *node) reaches(end *node, seen map[*node]bool) bool {
	for _, e := range n.edges {
		if e.target == end {
			return true
		}
		if e.target.tracked || seen[e.target] {
			continue
		}
		seen[e.target] = true
		if e.target.reaches(end, seen) {
			return true
		}
	}
	return false
}
