package tree

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

// claim records that a link sets a foreign key of child to a value of parent.
type claim struct {
	edge          *edge
	link          *link
	parent, child reflect.Value
	path          []step // path from the root to the child
}

// claimPass returns an error for the first row whose foreign key two parents would set to
// different values.
type claimPass struct {
	ctx    context.Context
	walk   *walk
	claims map[rowColumn]claim
}

// visitRow does nothing, because only links make claims.
func (p *claimPass) visitRow(*node, reflect.Value) error { return nil }

// visitLink records the claims of a link, and compares them with earlier claims to the
// same foreign keys.
func (p *claimPass) visitLink(e *edge, parent, child reflect.Value) error {
	for _, l := range e.links {
		second := claim{edge: e, link: l, parent: parent, child: child, path: slices.Clone(p.walk.path)}
		key := rowColumn{field: l.to.Field, address: child.UnsafeAddr()}
		first, ok := p.claims[key]
		if !ok {
			p.claims[key] = second
			continue
		}
		differ, err := first.differs(p.ctx, second)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if differ {
			return p.walk.twoParentsError(first, second)
		}
	}
	return nil
}

// differs reports whether two claims to the same foreign key contradict each other, so
// that the row has two parents. It does not compare values that other links will set
// first, because parents of different models may refer to a common row, such as a tenant.
func (c claim) differs(ctx context.Context, other claim) (bool, error) {
	// sameFrom is set if both links copy the same column of a model.
	sameFrom := c.link.from != nil && other.link.from != nil && c.link.from.Field == other.link.from.Field
	switch {
	// The walk has reached one parent twice.
	case sameFrom && c.parent.UnsafeAddr() == other.parent.UnsafeAddr():
		return false, nil
	// A belongs-to relation contradicts only a relation of the parent that sets the
	// foreign key from the same column, to which it is the way back.
	case (c.edge.belongsTo || other.edge.belongsTo) && (!sameFrom || c.edge.belongsTo == other.edge.belongsTo):
		return false, nil
	// Another link sets one of the values first.
	case c.edge != other.edge && (c.link.fromLinked || other.link.fromLinked):
		return false, nil
	// Different parents get different keys.
	case c.getsKey() || other.getsKey():
		return true, nil
	}
	value, err := c.value(ctx)
	if err != nil {
		return false, err
	}
	otherValue, err := other.value(ctx)
	return !reflect.DeepEqual(value, otherValue), err
}

// getsKey reports whether Assign will set the parent's value to which the claim refers.
func (c claim) getsKey() bool {
	l := c.link
	return (l.tagged || l.fromLinked && l.from.Field.PrimaryKey) && l.valueUnset(c.parent)
}

// value returns the value that the claim would set in the foreign key.
func (c claim) value(ctx context.Context) (any, error) {
	child := reflect.New(c.child.Type()).Elem()
	err := c.link.copy(ctx, c.parent, child)
	return c.link.to.Content(child), err
}

// checkParents returns an error if two parents share a row.
func (w *walk) checkParents(ctx context.Context) error {
	w.traced = true
	defer func() { w.traced = false }()
	return w.run(&claimPass{ctx: ctx, walk: w, claims: map[rowColumn]claim{}})
}

// twoParentsError returns the error for a row whose parents make different claims. It
// names the paths to the row.
func (w *walk) twoParentsError(first, second claim) error {
	fix := "give each parent its own copy"
	if first.edge.belongsTo || second.edge.belongsTo {
		fix = "point both to the same parent"
	}
	return fmt.Errorf("%s: got two parents for one row, by %s and by %s: %s", first.link.to.Name(), w.where(first.path), w.where(second.path), fix)
}
