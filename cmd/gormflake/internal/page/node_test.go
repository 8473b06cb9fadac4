package page_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// In Node, the page's modules pass their tests, and compute the vectors that Go wrote.
func TestModulesInNode(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	files, err := filepath.Glob("testdata/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d test files, %v", len(files), err)
	}
	run := exec.CommandContext(t.Context(), node, append([]string{"--test"}, files...)...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// A question asks testdata/property.js to compute an answer from an ID of a layout.
type question struct {
	Shape shape  `json:"shape"`
	ID    string `json:"id"`

	// Serials are serial numbers, some of them damaged.
	Serials []string `json:"serials"`
}

// An answer is computed by the page's JavaScript or by Go.
type answer struct {
	Parts    partsVector  `json:"parts"`
	Composed string       `json:"composed"` // the ID, composed again from Parts
	Bounds   boundsVector `json:"bounds"`
	Texts    []string     `json:"texts"` // the ID in all forms
	Expires  string       `json:"expires"`
	Mistakes int          `json:"mistakes"` // mistakes that JavaScript finds in the layout, which has none

	Serials []serialVector `json:"serials"` // empty where the serial is invalid
	Written []string       `json:"written"` // the serials, formatted again
}

// JavaScript decomposes random IDs of random layouts exactly as Go does, and parses the same
// serial numbers.
func TestRandomIDsInNode(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	random := rand.New(rand.NewPCG(1, 2))
	var questions bytes.Buffer
	var want []answer
	encoder := json.NewEncoder(&questions)
	for range 5000 {
		l := randomLayout(random)
		id := types.ID(random.Int64N(l.Max(l.Expires()).Int64())) + 1
		whole := randomSerial(random, t, l, id)
		serials := []string{whole, damaged(random, whole), damaged(random, whole)}
		want = append(want, goAnswer(l, id, serials))
		if err := encoder.Encode(question{shapeOf(l), id.String(), serials}); err != nil {
			t.Fatal(err)
		}
	}
	got := ask(t, node, &questions)
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("ID %d:\nnode %+v\ngo   %+v", i, got[i], want[i])
		}
	}
}

// randomLayout returns a valid layout with fields of any size, whose epoch is a multiple
// of the tick.
func randomLayout(random *rand.Rand) snowflake.Layout {
	for {
		l := snowflake.Layout{
			Tick:           time.Duration(1+random.IntN(5000)) * time.Millisecond,
			DatacenterBits: uint8(random.IntN(24)),
			WorkerBits:     uint8(random.IntN(24)),
			SequenceBits:   uint8(random.IntN(24)),
			TotalBits:      uint8(2 + random.IntN(62)),
		}
		l.Epoch = time.UnixMilli(random.Int64N(1e9) * l.Tick.Milliseconds()).UTC()
		if l.Validate() == nil {
			return l
		}
	}
}

// goAnswer returns the answer that JavaScript must give.
func goAnswer(l snowflake.Layout, id types.ID, serials []string) answer {
	at := l.Time(id)
	a := answer{
		Parts:    partsOf(l.Decompose(id)),
		Composed: id.String(),
		Bounds:   boundsVector{millis(at), l.Min(at).String(), l.Max(at).String()},
		Texts:    []string{id.String(), id.Base32(), id.Base58(), id.Base62()},
		Expires:  millis(l.Expires()),
	}
	for _, text := range serials {
		read, _ := readSerial(l, text)
		a.Serials = append(a.Serials, read)
		a.Written = append(a.Written, read.Text)
	}
	return a
}

// ask lets Node answer the questions.
func ask(t *testing.T, node string, questions *bytes.Buffer) []answer {
	t.Helper()
	run := exec.CommandContext(t.Context(), node, "testdata/property.js")
	run.Stdin = questions
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var answers []answer
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var a answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers
}
