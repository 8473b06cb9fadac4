package claims_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// bwmarrinNode returns a function that takes IDs from a new node 1.
func bwmarrinNode(t *testing.T) func() (bwmarrin.ID, error) {
	t.Helper()
	node, err := bwmarrin.NewNode(1)
	if err != nil {
		t.Fatal(err)
	}
	return func() (bwmarrin.ID, error) { return node.Generate(), nil }
}

// Two nodes with the same number in one process issue the same IDs. The library does not
// notice that the number is in use.
func TestBwmarrinEqualNodesRepeat(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		first := take(t, 1000, bwmarrinNode(t))
		if n := repeats(first, take(t, 1000, bwmarrinNode(t))); n != 1000 {
			t.Errorf("%d of 1000 IDs of a second node 1 in the same process repeat, want all", n)
		}
	})
}

// A process that restarts after its clock was set back issues the same IDs again, because the
// library does not store up to which time it has issued IDs.
func TestBwmarrinRestartWithTheClockSetBackRepeats(t *testing.T) {
	t.Parallel()
	var runs [2][]bwmarrin.ID
	for i := range runs {
		inRestartedProcess(t, func(t *testing.T) { runs[i] = take(t, 1000, bwmarrinNode(t)) })
	}
	if n := repeats(runs[0], runs[1]); n != 1000 {
		t.Errorf("%d of 1000 IDs repeat, want all", n)
	}
}

// If a program issues at most one ID in each millisecond, all its IDs are multiples of 4096,
// because the sequence begins at 0 in each millisecond. Tables that are sharded by the low
// bits of the key would then have all rows in one shard.
func TestBwmarrinLowBitsAreZeroAtLowRates(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		next := bwmarrinNode(t)
		for range 100 {
			if id := take(t, 1, next)[0]; id%4096 != 0 {
				t.Fatalf("ID %d, want its 12 low bits zero", id)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// The library writes an ID as a string in JSON. It does not read a number, null or an empty
// string as an ID.
func TestBwmarrinJSONIsAString(t *testing.T) {
	t.Parallel()
	id := bwmarrin.ID(2067891234567890123)
	if got := throughJavaScript(t, id); got != id.String() {
		t.Errorf("%v, want the string %q", got, id.String())
	}
	for _, text := range []string{`2067891234567890123`, `null`, `""`} {
		if err := json.Unmarshal([]byte(text), &id); err == nil {
			t.Errorf("%s is read as %d, want it refused", text, id)
		}
	}
}

// ParseBase58 returns no error for a text whose number has more than 64 bits, which becomes a
// negative ID here, and none for an empty text, which becomes 0.
func TestBwmarrinParsersTakeWhatOverflows(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("Z", 13)) // a number of more than 64 bits
	if id, err := bwmarrin.ParseBase58(long); err != nil || id >= 0 {
		t.Errorf("%s is %d, %v, want a negative ID and no error", long, id, err)
	}
	if id, err := bwmarrin.ParseBase58(nil); err != nil || id != 0 {
		t.Errorf("nothing is %d, %v, want 0 and no error", id, err)
	}
}

// A negative ID, which ParseBase58 returns for a long text, makes the encoders panic.
func TestBwmarrinNegativeIDsPanic(t *testing.T) {
	t.Parallel()
	for name, encode := range map[string]func(){
		"Base32": func() { _ = bwmarrin.ID(-1).Base32() },
		"Base58": func() { _ = bwmarrin.ID(-1).Base58() },
	} {
		if !panics(encode) {
			t.Errorf("%s of -1 does not panic", name)
		}
	}
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestBwmarrinSecondLayoutChangesTheFirst checks that a program cannot use two layouts,
// because the layout is in variables of the package. After the test has set a second layout,
// an ID of node 1 is read as an ID of another node. At the end the test restores the
// variables for later tests.
func TestBwmarrinSecondLayoutChangesTheFirst(t *testing.T) { //nolint:paralleltest // see above
	bits, steps := bwmarrin.NodeBits, bwmarrin.StepBits
	id := take(t, 1, bwmarrinNode(t))[0]
	before := id.Node()
	bwmarrin.NodeBits, bwmarrin.StepBits = 4, 18
	bwmarrinNode(t)
	after := id.Node()
	bwmarrin.NodeBits, bwmarrin.StepBits = bits, steps
	bwmarrinNode(t)
	if before != 1 || after == 1 || id.Node() != 1 {
		t.Errorf("node %d, then %d, then %d, want 1, another and 1", before, after, id.Node())
	}
}

// TestBwmarrinIDsAreOfTwitterLayout checks that package snowflake reads an ID of the library
// with Twitter's layout. The upper five of the node's ten bits are then the datacenter, here
// 5, and the lower five are the worker, here 3.
func TestBwmarrinIDsAreOfTwitterLayout(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		node, err := bwmarrin.NewNode(5<<5 | 3)
		if err != nil {
			t.Fatal(err)
		}
		node.Generate()
		want := snowflake.Parts{Time: time.Now().UTC(), Datacenter: 5, Worker: 3, Sequence: 1}
		if got := snowflake.TwitterLayout().Decompose(types.ID(node.Generate())); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
