package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

var update = flag.Bool("update", false, "write testdata/vectors.json again")

// golden is the file of vectors. Run the tests with -update to write it from the packages
// types, snowflake and serial, and review the diff. The tests of Go, of Node and of the page
// in a browser all check it.
const golden = "testdata/vectors.json"

// vectors is the content of the golden file. Its numbers are strings, because JavaScript
// rounds large numbers of JSON.
type vectors struct {
	Layouts []layoutVector `json:"layouts"`
	Invalid []shape        `json:"invalidLayouts"`
	Refused []textVector   `json:"refused"` // texts that are not IDs
	Taken   []textVector   `json:"taken"`   // texts that are IDs
}

// A shape is a layout, as the page's JavaScript stores it.
type shape struct {
	EpochMillis    string `json:"epochMillis"`
	TickMillis     string `json:"tickMillis"`
	DatacenterBits uint8  `json:"datacenterBits"`
	WorkerBits     uint8  `json:"workerBits"`
	SequenceBits   uint8  `json:"sequenceBits"`
	TotalBits      uint8  `json:"totalBits"`
	SequenceFirst  bool   `json:"sequenceFirst,omitempty"`
}

// A layoutVector is a layout with IDs, times and serial numbers, and the results that every
// implementation must compute for them.
type layoutVector struct {
	Name    string         `json:"name"`
	Shape   shape          `json:"shape"`
	Expires string         `json:"expiresMillis"`
	IDs     []idVector     `json:"ids"`
	Bounds  []boundsVector `json:"bounds"`
	Refused []partsVector  `json:"refusedParts"` // parts of which one is out of range

	Serials        []serialVector `json:"serials"`
	Unserials      []serialVector `json:"unserials"` // of values that are not IDs of the layout
	RefusedSerials []string       `json:"refusedSerials"`
}

// An idVector is an ID in all forms, with its parts.
type idVector struct {
	Decimal string      `json:"decimal"`
	Base32  string      `json:"base32"`
	Base58  string      `json:"base58"`
	Base62  string      `json:"base62"`
	Parts   partsVector `json:"parts"`
}

type partsVector struct {
	TimeMillis string `json:"timeMillis"`
	Datacenter string `json:"datacenter"`
	Worker     string `json:"worker"`
	Sequence   string `json:"sequence"`
}

// A boundsVector is a time with the smallest and the largest ID of its tick.
type boundsVector struct {
	TimeMillis string `json:"timeMillis"`
	Min        string `json:"min"`
	Max        string `json:"max"`
}

// textVector is a text in a form, and its ID if the text is valid.
type textVector struct {
	Form string `json:"form"`
	Text string `json:"text"`
	ID   string `json:"id,omitempty"`
}

// The golden file has the values that Go computes. A difference means that Go issues or
// reads IDs differently than before, which must be intended.
func TestVectorsAreGolden(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(makeVectors(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what Go computes; read the diff after go test -run %s -update", golden, t.Name())
	}
}

// makeVectors computes the content of the golden file: the vectors of the layouts that the
// command line knows by name and of layouts with fields of extreme sizes, layouts that are
// invalid, texts that are no IDs (Refused), and texts that are (Taken).
func makeVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	for _, name := range slices.Sorted(maps.Keys(flags.Layouts())) {
		v.Layouts = append(v.Layouts, vectorOf(t, name, flags.Layouts()[name]))
	}
	for _, l := range vectorLayouts() {
		v.Layouts = append(v.Layouts, vectorOf(t, l.name, l.layout))
	}
	v.Invalid = invalidLayouts(t)
	v.Refused = refusedTexts(t)
	v.Taken = takenTexts(t)
	return v
}

type namedLayout struct {
	name   string
	layout snowflake.Layout
}

// vectorLayouts returns layouts with fields of extreme sizes.
func vectorLayouts() []namedLayout {
	epoch := time.Date(2024, time.February, 29, 12, 30, 0, 0, time.UTC)
	return []namedLayout{
		{"53 bits of milliseconds", snowflake.Layout{Epoch: epoch, Tick: time.Millisecond, DatacenterBits: 1, WorkerBits: 3, SequenceBits: 8, TotalBits: 53}},
		{"fields of 1 bit", snowflake.Layout{Epoch: epoch, Tick: time.Millisecond, DatacenterBits: 1, WorkerBits: 1, SequenceBits: 1, TotalBits: 63}},
		{"no datacenter, ticks of 1 s", snowflake.Layout{Epoch: epoch, Tick: time.Second, WorkerBits: 16, SequenceBits: 14, TotalBits: 63}},
		{"no sequence", snowflake.Layout{Epoch: epoch, Tick: time.Second, DatacenterBits: 4, WorkerBits: 12, TotalBits: 63}},
		{"no worker, ticks of 10 ms", snowflake.Layout{Epoch: epoch, Tick: 10 * time.Millisecond, SequenceBits: 16, TotalBits: 60}},
		{"1 bit of time", snowflake.Layout{Epoch: epoch, Tick: time.Minute, DatacenterBits: 20, WorkerBits: 21, SequenceBits: 21, TotalBits: 63}},
		{"2 bits in all", snowflake.Layout{Epoch: time.UnixMilli(0).UTC(), Tick: time.Hour, SequenceBits: 1, TotalBits: 2}},
		{"time alone", snowflake.Layout{Epoch: time.UnixMilli(0).UTC(), Tick: time.Millisecond, TotalBits: 63}},
		{"more ticks than milliseconds", snowflake.Layout{Epoch: epoch, Tick: 24 * time.Hour / 48, WorkerBits: 2, SequenceBits: 3, TotalBits: 63}},
	}
}

// vectorOf computes the vector of a layout.
func vectorOf(t *testing.T, name string, l snowflake.Layout) layoutVector {
	t.Helper()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	v := layoutVector{Name: name, Shape: shapeOf(l), Expires: millis(l.Expires())}
	ids := vectorIDs(t, l)
	v.Serials, v.Unserials, v.RefusedSerials = serialsOf(t, l, ids), unserialsOf(t, l), refusedSerials(t, l)
	for _, id := range ids {
		v.IDs = append(v.IDs, idVector{id.String(), id.Base32(), id.Base58(), id.Base62(), partsOf(l.Decompose(id))})
	}
	for _, at := range vectorTimes(l) {
		v.Bounds = append(v.Bounds, boundsVector{millis(at), l.Min(at).String(), l.Max(at).String()})
	}
	for _, p := range partsOutside(l) {
		if id, err := l.Compose(p); err == nil {
			t.Fatalf("%s: %+v is %d, want an error", name, p, id)
		}
		v.Refused = append(v.Refused, partsOf(p))
	}
	if name == flags.Sonyflake {
		v.swap()
	}
	return v
}

// swap exchanges worker and sequence. In Sonyflake's IDs the sequence precedes the worker,
// but in every layout of Go it follows. So the vectors are computed with a layout of Go, in
// which the worker has the place of Sonyflake's sequence.
func (v *layoutVector) swap() {
	v.Shape.SequenceFirst = true
	v.Shape.WorkerBits, v.Shape.SequenceBits = v.Shape.SequenceBits, v.Shape.WorkerBits
	for i := range v.IDs {
		v.IDs[i].Parts.swap()
	}
	for i := range v.Refused {
		v.Refused[i].swap()
	}
}

func (p *partsVector) swap() { p.Worker, p.Sequence = p.Sequence, p.Worker }

// vectorIDs returns the IDs at the ends of each field, and some between them.
func vectorIDs(t *testing.T, l snowflake.Layout) []types.ID {
	t.Helper()
	last := l.Max(l.Expires())
	ids := []types.ID{1, last, last - 1, l.Max(l.Epoch), l.Min(lastTick(l)), last / 3, last / 7 * 5}
	all := l.Decompose(last)
	for _, p := range []snowflake.Parts{
		{Time: lastTick(l), Sequence: all.Sequence},
		{Time: lastTick(l), Worker: all.Worker},
		{Time: lastTick(l), Datacenter: all.Datacenter},
	} {
		id, err := l.Compose(p)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	ids = slices.DeleteFunc(ids, types.ID.IsZero)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lastTick returns the time of the layout's last tick.
func lastTick(l snowflake.Layout) time.Time { return l.Time(l.Max(l.Expires())) }

// vectorTimes returns times before, at the ends of, within and after the layout's time.
func vectorTimes(l snowflake.Layout) []time.Time {
	times := []time.Time{
		l.Epoch.Add(-time.Millisecond),
		l.Epoch.Add(-time.Hour),
		l.Epoch,
		l.Epoch.Add(l.Tick - time.Millisecond),
		l.Epoch.Add(l.Tick),
		l.Epoch.Add(1234567 * time.Millisecond),
		lastTick(l),
		l.Expires(),
	}
	if later := l.Expires().Add(time.Hour); later.UnixMilli() > l.Expires().UnixMilli() { // otherwise the time overflows the milliseconds of an int64
		times = append(times, later)
	}
	return times
}

// partsOutside returns parts of which each has one field outside its range.
func partsOutside(l snowflake.Layout) []snowflake.Parts {
	all := l.Decompose(l.Max(l.Expires()))
	return []snowflake.Parts{
		{Time: l.Epoch.Add(-time.Millisecond)},
		{Time: l.Expires()},
		{Time: l.Epoch, Datacenter: all.Datacenter + 1},
		{Time: l.Epoch, Datacenter: -1},
		{Time: l.Epoch, Worker: all.Worker + 1},
		{Time: l.Epoch, Sequence: all.Sequence + 1},
		{Time: l.Epoch, Sequence: -1},
	}
}

// invalidLayouts returns layouts that Go and JavaScript reject.
func invalidLayouts(t *testing.T) []shape {
	t.Helper()
	var shapes []shape
	for _, change := range []func(*snowflake.Layout){
		func(l *snowflake.Layout) { l.Tick = 0 },
		func(l *snowflake.Layout) { l.Tick = 7 * time.Millisecond },
		func(l *snowflake.Layout) { l.Epoch = time.UnixMilli(-1) },
		func(l *snowflake.Layout) { l.TotalBits = 64 },
		func(l *snowflake.Layout) { l.TotalBits = 22 },
		func(l *snowflake.Layout) { l.WorkerBits = 255 },
	} {
		l := snowflake.TwitterLayout()
		change(&l)
		if l.Validate() == nil {
			t.Fatalf("%v is valid", l)
		}
		shapes = append(shapes, shapeOf(l))
	}
	return shapes
}

var parsers = map[string]func(string) (types.ID, error){
	"decimal": types.ParseID,
	"base32":  types.ParseBase32,
	"base58":  types.ParseBase58,
	"base62":  types.ParseBase62,
}

// refusedTexts returns texts that are not IDs, for example with leading zeros, of a wrong
// length, with a letter outside of the alphabet, or above the largest ID. U+212A is the
// Kelvin sign, which some libraries fold to a K.
func refusedTexts(t *testing.T) []textVector {
	t.Helper()
	texts := []textVector{
		{"decimal", "", ""},
		{"decimal", "00", ""},
		{"decimal", "01", ""},
		{"decimal", "-1", ""},
		{"decimal", "+1", ""},
		{"decimal", " 1", ""},
		{"decimal", "1 ", ""},
		{"decimal", "1_000", ""},
		{"decimal", "1e3", ""},
		{"decimal", "1.0", ""},
		{"decimal", "0x1", ""},
		{"decimal", "١٢٣", ""},
		{"decimal", "9223372036854775808", ""},
		{"decimal", "18446744073709551617", ""},
		{"decimal", "99999999999999999999999999", ""},
		{"base32", "", ""},
		{"base32", "1", ""},
		{"base32", "00000000000001", ""},
		{"base32", "0000000000U00", ""},
		{"base32", "000000-000000", ""},
		{"base32", "000000000000 ", ""},
		{"base32", "8000000000000", ""},
		{"base32", "ZZZZZZZZZZZZZ", ""},
		{"base32", "0000000000\u212a", ""},
		{"base32", "000000000000\u212a", ""},
		{"base58", "", ""},
		{"base58", "11", ""},
		{"base58", "12", ""},
		{"base58", "0", ""},
		{"base58", "O", ""},
		{"base58", "I", ""},
		{"base58", "2l", ""},
		{"base58", "-2", ""},
		{"base58", "ZZZZZZZZZZZ", ""},
		{"base58", "222222222222", ""},
		{"base62", "", ""},
		{"base62", "00", ""},
		{"base62", "01", ""},
		{"base62", "-1", ""},
		{"base62", "a b", ""},
		{"base62", "é", ""},
		{"base62", "AzL8n0Y58m8", ""},
		{"base62", "zzzzzzzzzzz", ""},
		{"base62", "100000000000", ""},
	}
	for _, c := range texts {
		if id, err := parsers[c.Form](c.Text); err == nil {
			t.Fatalf("%s %q is %d, want an error", c.Form, c.Text, id)
		}
	}
	return texts
}

// takenTexts returns valid texts that the formatters never write, and texts at the ends
// of the range.
func takenTexts(t *testing.T) []textVector {
	t.Helper()
	texts := []textVector{
		{"decimal", "0", ""},
		{"decimal", "9007199254740993", ""},
		{"decimal", "9223372036854775807", ""},
		{"base32", "0000000000000", ""},
		{"base32", "ooooooooOOOOO", ""},
		{"base32", "000000000iIlL", ""},
		{"base32", "00000000abcxz", ""},
		{"base32", "7ZZZZZZZZZZZZ", ""},
		{"base58", "1", ""},
		{"base58", "2", ""},
		{"base58", "npL6MjP8Qfc", ""},
		{"base62", "0", ""},
		{"base62", "1", ""},
		{"base62", "AzL8n0Y58m7", ""},
	}
	for i, c := range texts {
		id, err := parsers[c.Form](c.Text)
		if err != nil {
			t.Fatal(err)
		}
		texts[i].ID = id.String()
	}
	return texts
}

// shapeOf returns the layout in the form of the page. Only Sonyflake has the sequence first,
// which swap sets.
func shapeOf(l snowflake.Layout) shape {
	return shape{millis(l.Epoch), strconv.FormatInt(l.Tick.Milliseconds(), 10), l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.TotalBits, false}
}

func partsOf(p snowflake.Parts) partsVector {
	return partsVector{millis(p.Time), fmt.Sprint(p.Datacenter), fmt.Sprint(p.Worker), fmt.Sprint(p.Sequence)}
}

// millis returns a time in milliseconds since 1970, as text.
func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
