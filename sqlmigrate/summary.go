package sqlmigrate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Estimate is how long all phases take, on the machine of the measurements that the
// package's documentation names.
func (p *Plan) Estimate() time.Duration {
	var sum time.Duration
	for _, phase := range p.Phases {
		sum += phase.Estimate()
	}
	return sum
}

// Size is what the database estimates of all tables, with indexes. The rows of
// tables that were never analyzed are not in it: there are so many.
func (p *Plan) Size() (rows, bytes int64, notAnalyzed int) {
	for _, t := range p.Tables {
		rows, bytes = rows+t.Rows, bytes+t.Bytes
		if t.NotAnalyzed {
			notAnalyzed++
		}
	}
	return rows, bytes, notAnalyzed
}

// LongestLock estimates how long others may have to wait for a table, and in which
// phase. A transaction holds the locks of all its statements until its end.
func (p *Plan) LongestLock() (time.Duration, PhaseName) {
	var longest time.Duration
	var name PhaseName
	for _, phase := range p.Phases {
		if lock := longestLock(&phase); name == "" || lock > longest {
			longest, name = lock, phase.Name
		}
	}
	return longest, name
}

func longestLock(p *Phase) time.Duration {
	if p.Transaction {
		return p.Estimate()
	}
	var longest time.Duration
	for _, step := range p.Steps {
		longest = max(longest, step.Estimate)
	}
	return longest
}

// Disk estimates how many bytes the copies of tables need at the same time. The
// database's log needs about as many.
func (p *Plan) Disk() int64 {
	var most int64
	for _, phase := range p.Phases {
		var sum, largest int64
		for _, step := range phase.Steps {
			if step.Rewrites {
				sum, largest = sum+step.Bytes, max(largest, step.Bytes)
			}
		}
		if !phase.Transaction {
			sum = largest
		}
		most = max(most, sum)
	}
	return most
}

// A BlockingObject is an object of the database that keeps the plan from being
// carried out, once for all tables that it concerns.
type BlockingObject struct {
	Object  string
	Tables  []TableName
	Reasons []string
	Fix     string
}

// BlockingObjects are the blockers by object. Those with the same fix follow each
// other.
func (p *Plan) BlockingObjects() []BlockingObject { return blockingObjects(p.Blockers) }

func blockingObjects(blockers []Blocker) []BlockingObject {
	var objects []BlockingObject
	for _, b := range blockers {
		i := slices.IndexFunc(objects, func(o BlockingObject) bool { return o.is(b) })
		if i < 0 {
			objects, i = append(objects, BlockingObject{Object: b.Object, Fix: b.Fix}), len(objects)
		}
		o := &objects[i]
		o.Tables, o.Reasons = engine.AppendNew(o.Tables, b.Table), engine.AppendNew(o.Reasons, b.Reason)
	}
	first := map[string]int{}
	for i, o := range slices.Backward(objects) {
		first[o.Fix] = i
	}
	slices.SortStableFunc(objects, func(a, b BlockingObject) int { return cmp.Compare(first[a.Fix], first[b.Fix]) })
	return objects
}

// is reports whether the blocker is about the same object. A column is one of its
// table, wherever others are called the same.
func (o *BlockingObject) is(b Blocker) bool {
	if o.Object != b.Object || o.Fix != b.Fix {
		return false
	}
	ofTable := strings.HasPrefix(b.Object, "column ") || b.Object == "primary key"
	return !ofTable || slices.Contains(o.Tables, b.Table)
}
