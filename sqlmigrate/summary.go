package sqlmigrate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Estimate returns how long all phases take together, on the machine that
// docs/measurements.md names.
func (p *Plan) Estimate() time.Duration {
	var sum time.Duration
	for _, phase := range p.Phases {
		sum += phase.Estimate()
	}
	return sum
}

// Size returns the database's estimates of the rows and bytes, indexes included, of all
// tables together. Tables that were never analyzed have no estimate of their rows;
// notAnalyzed counts these tables.
func (p *Plan) Size() (rows, bytes int64, notAnalyzed int) {
	for _, t := range p.Tables {
		rows, bytes = rows+t.Rows, bytes+t.Bytes
		if t.NotAnalyzed {
			notAnalyzed++
		}
	}
	return rows, bytes, notAnalyzed
}

// LongestLock estimates how long a program may have to wait for a table, and returns the
// phase with the longest wait. It assumes that a phase with transactions is a single
// transaction, which holds the locks of all its statements until its end.
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

// longestLock estimates how long the phase holds a lock. For a phase with transactions,
// this is the time of all its steps, as if they were a single transaction. In other phases,
// each step releases its locks at its end.
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

// Disk estimates how many bytes the copies of tables need at the same time. It assumes that
// a phase with transactions is a single transaction, which keeps all its copies until its
// end. In other phases there is one copy at a time. The log of the database needs about as
// many bytes.
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

// A BlockingObject is an object of the database that is a blocker of one or more tables.
type BlockingObject struct {
	Object  string
	Tables  []TableName
	Reasons []string
	Fix     string
}

// BlockingObjects groups the blockers by object. Objects with the same fix are next to
// each other.
func (p *Plan) BlockingObjects() []BlockingObject { return blockingObjects(p.Blockers) }

// blockingObjects groups the blockers by object. It moves each object behind the first
// object with the same fix, so that a text can name the fix once.
func blockingObjects(blockers []Blocker) []BlockingObject {
	var objects []BlockingObject
	for _, b := range blockers {
		i := slices.IndexFunc(objects, func(o BlockingObject) bool { return o.isObjectOf(b) })
		if i < 0 {
			objects, i = append(objects, BlockingObject{Object: b.Object, Fix: b.Fix}), len(objects)
		}
		o := &objects[i]
		o.Tables, o.Reasons = engine.AppendNew(o.Tables, b.Table), engine.AppendNew(o.Reasons, b.Reason)
	}
	first := map[string]int{}                    // for each fix, the index of the first object that has it
	for i, o := range slices.Backward(objects) { // backward, so that the first index is set last
		first[o.Fix] = i
	}
	slices.SortStableFunc(objects, func(a, b BlockingObject) int { return cmp.Compare(first[a.Fix], first[b.Fix]) })
	return objects
}

// isObjectOf reports whether b is about the same object as o, and has the same fix. The
// description of most objects is unique in the database. "column id" and "primary key" are
// not, so for these the table must be the same too.
func (o *BlockingObject) isObjectOf(b Blocker) bool {
	if o.Object != b.Object || o.Fix != b.Fix {
		return false
	}
	return !isUniqueInTable(b.Object) || slices.Contains(o.Tables, b.Table)
}

// isUniqueInTable reports whether the description of an object, such as "column id" or
// "primary key", is unique only in its table, because other tables may have it too.
func isUniqueInTable(object string) bool {
	return strings.HasPrefix(object, "column ") || object == "primary key"
}
