package tree

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

// claim records that a link sets a foreign key of child to a value of parent. A link copies
// one column, for example Order.ID to Line.OrderID in the relation Order.Lines.
type claim struct {
	edge          *edge
	link          *link
	parent, child reflect.Value
	path          []step // path from the root to the child
}

// claimPass is the pass of a walk that finds rows with two parents. It returns an error for the
// first row whose foreign key two parents would set to different values.
type claimPass struct {
	ctx    context.Context
	walk   *walk
	claims map[rowColumn]claim // the first claim to each foreign key of a row
}

// visitRow does nothing, because only links make claims.
func (p *claimPass) visitRow(*node, reflect.Value) error { return nil }

// visitLink records the claims that the relation e makes to the foreign keys of child. If it
// finds an earlier claim to a foreign key, it compares the two claims.
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
// that the row has two parents.
func (c claim) differs(ctx context.Context, other claim) (bool, error) {
	// sameFrom is set if both links copy the same column of a model, such as Order.ID.
	sameFrom := c.link.from != nil && other.link.from != nil && c.link.from.Field == other.link.from.Field
	switch {
	// The walk has reached one parent twice.
	case sameFrom && c.parent.UnsafeAddr() == other.parent.UnsafeAddr():
		return false, nil
	// A belongs-to relation such as Line.Order can contradict only the relation to which it is
	// the way back, such as Order.Lines, because both copy Order.ID to Line.OrderID.
	case (c.edge.belongsTo || other.edge.belongsTo) && (!sameFrom || c.edge.belongsTo == other.edge.belongsTo):
		return false, nil
	// Another link will set one of the two values only when Assign links the rows, so the values
	// cannot be compared yet. They may become equal, because two parents of different models may
	// refer to the same row, such as a tenant.
	case c.edge != other.edge && (c.link.fromLinked || other.link.fromLinked):
		return false, nil
	// At least one parent has no key yet, and different parents get different keys.
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

// getsKey reports whether the parent's value, which the link copies, is unset and Assign will
// set it. Assign sets a tagged column, and a primary key that another link sets.
func (c claim) getsKey() bool {
	l := c.link
	return (l.tagged || l.fromLinked && l.from.Field.PrimaryKey) && l.valueUnset(c.parent)
}

// value returns the value that the claim would set in the foreign key.
func (c claim) value(ctx context.Context) (any, error) {
	child := reflect.New(c.child.Type()).Elem() // a new row, so that the tree does not change
	err := c.link.copy(ctx, c.parent, child)
	return c.link.to.Content(child), err
}

// checkParents walks the tree and returns an error if two parents share a row.
func (w *walk) checkParents(ctx context.Context) error {
	w.traced = true // for the paths in the error
	defer func() { w.traced = false }()
	return w.run(&claimPass{ctx: ctx, walk: w, claims: map[rowColumn]claim{}})
}

// twoParentsError returns the error for a row whose parents make different claims. It
// names the paths by which the walk reached the row, such as Order[0].Lines[2].
func (w *walk) twoParentsError(first, second claim) error {
	fix := "give each parent its own copy"
	if first.edge.belongsTo || second.edge.belongsTo {
		fix = "point both to the same parent"
	}
	return fmt.Errorf("%s: got two parents for one row, by %s and by %s: %s", first.link.to.Name(), w.where(first.path), w.where(second.path), fix)
}
