package tree_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// assignNode has every kind of relation to itself.
type assignNode struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	ParentID *types.ID
	Children []*assignNode `gorm:"foreignKey:ParentID"`
	LeaderID types.ID
	Leader   *assignNode   `gorm:"foreignKey:LeaderID"`
	Friends  []*assignNode `gorm:"many2many:assign_friends"`
	Leaves   []assignLeaf  `gorm:"polymorphic:Owner"`
}

type assignLeaf struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	OwnerID   types.ID
	OwnerType string
}

// randomNodes returns nodes that refer to each other at random, also in cycles. Some of
// their keys are set, and some of their foreign keys are wrong. No node has two parents.
func randomNodes(r *rand.Rand) []*assignNode {
	nodes := make([]*assignNode, 1+r.IntN(30))
	for i := range nodes {
		n := &assignNode{LeaderID: types.ID(r.IntN(2)), Leaves: make([]assignLeaf, r.IntN(4))}
		if r.IntN(3) == 0 {
			n.ID = types.ID(1 + i)
		}
		nodes[i] = n
	}
	pick := func() *assignNode { return nodes[r.IntN(len(nodes))] }
	for _, n := range nodes {
		switch r.IntN(4) {
		case 0:
			n.Leader = pick()
		case 1:
			n.Friends = append(n.Friends, pick(), pick())
		default:
			parent := pick()
			parent.Children = append(parent.Children, n)
		}
	}
	return nodes
}

// addReachable adds to all the node n and the nodes that can be reached from it.
func addReachable(n *assignNode, all map[*assignNode]bool) {
	if n == nil || all[n] {
		return
	}
	all[n] = true
	addReachable(n.Leader, all)
	for _, next := range n.Children {
		addReachable(next, all)
	}
	for _, next := range n.Friends {
		addReachable(next, all)
	}
}

// TestAssignRandomGraphs checks Assign for random rows that refer to each other, also in
// cycles. Assign must end, keep the keys that are set, generate one ID for each other key,
// and set all foreign keys.
func TestAssignRandomGraphs(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewAssignGenerator()
	db := plugintest.NoDatabase(t, gen)
	for seed := range uint64(500) {
		root := randomNodes(rand.New(rand.NewPCG(seed, 0)))[0]
		all := map[*assignNode]bool{}
		addReachable(root, all)
		unset, preset := 0, map[*assignNode]types.ID{}
		for n := range all {
			unset += len(n.Leaves)
			if preset[n] = n.ID; n.ID == 0 {
				unset++
			}
		}
		before := gen.Last
		if err := gormflake.Assign(db, root); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if made := gen.Last - before; made != int64(unset) {
			t.Errorf("seed %d: made %d keys for %d rows", seed, made, unset)
		}
		for _, problem := range problems(all, preset) {
			t.Errorf("seed %d: %s", seed, problem)
		}
	}
}

// problems returns the keys that are unset, duplicate or changed, and the wrong foreign
// keys.
func problems(all map[*assignNode]bool, preset map[*assignNode]types.ID) (found []string) {
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	nodes, leaves := map[types.ID]bool{}, map[types.ID]bool{}
	for n := range all {
		if n.ID == 0 || nodes[n.ID] || preset[n] != 0 && preset[n] != n.ID {
			report("node %v: double, unset or not the preset %v", n.ID, preset[n])
		}
		nodes[n.ID] = true
		if n.Leader != nil && n.LeaderID != n.Leader.ID {
			report("node %v: leader %v, want %v", n.ID, n.LeaderID, n.Leader.ID)
		}
		for _, child := range n.Children {
			if child.ParentID == nil || *child.ParentID != n.ID {
				report("node %v: parent %v, want %v", child.ID, child.ParentID, n.ID)
			}
		}
		for _, leaf := range n.Leaves {
			if leaf.ID == 0 || leaves[leaf.ID] || leaf.OwnerID != n.ID || leaf.OwnerType != "assign_nodes" {
				report("leaf %+v of node %v", leaf, n.ID)
			}
			leaves[leaf.ID] = true
		}
	}
	return found
}
