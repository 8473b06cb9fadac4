package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"runtime"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// record is what a program sends to its clients: a key and something else.
type record[T any] struct {
	ID   T      `json:"id"`
	Name string `json:"name"`
}

// A codec is the two ways of one kind of ID through encoding/json.
type codec struct {
	name      string
	marshal   func() error
	unmarshal func() error
}

func newCodec[T comparable](name string, id T) (codec, error) {
	in := record[T]{ID: id, Name: "a name"}
	text, err := json.Marshal(in)
	if err != nil {
		return codec{}, fmt.Errorf("%s: %w", name, err)
	}
	var out record[T]
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		return codec{}, fmt.Errorf("%s: %v came back as %v: %w", name, in, out, err)
	}
	return codec{
		name:      name,
		marshal:   func() error { _, err := json.Marshal(&in); return err },
		unmarshal: func() error { return json.Unmarshal(text, &out) },
	}, nil
}

const sampleID = 1 << 60 // 19 digits, as IDs have

func codecs() ([]codec, error) {
	var all []codec
	for _, make := range []func() (codec, error){
		func() (codec, error) { return newCodec(peers.Ours, types.ID(sampleID)) },
		func() (codec, error) { return newCodec(peers.Bwmarrin, bwmarrin.ID(sampleID)) },
		func() (codec, error) { return newCodec("google/uuid", uuid.Max) },
		func() (codec, error) { return newCodec("oklog/ulid", ulid.Make()) },
		func() (codec, error) { return newCodec("int64, a number", int64(sampleID)) },
		func() (codec, error) { return newCodec("string", "1152921504606846976") },
	} {
		c, err := make()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return appendStandardUUID(all)
}

// micro measures encoding/json on a struct of an ID and a name: windows of 100
// calls, lower quartile.
func micro() (experiment, error) {
	all, err := codecs()
	if err != nil {
		return experiment{}, err
	}
	var windows []window
	for _, c := range all {
		windows = append(windows, repeated(marshalOf(c.name), c.marshal), repeated(unmarshalOf(c.name), c.unmarshal))
	}
	return experiment{
		name:   "json",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(400), lowQuartile) },
		report: func(s series) report { return reportMicro(all, s) },
	}, nil
}

func marshalOf(name string) string { return name + ", marshal" }

func unmarshalOf(name string) string { return name + ", unmarshal" }

func repeated(name string, call func() error) window {
	const calls = 100
	return window{name, func() (float64, error) {
		return timed(calls, func() error {
			for range calls {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func reportMicro(all []codec, s series) report {
	t := table{title: "JSON of a struct with an ID, ns", header: []string{"type", "marshal", "unmarshal"}}
	for _, c := range all {
		t.rows = append(t.rows, []string{c.name, median(s[marshalOf(c.name)], ""), median(s[unmarshalOf(c.name)], "")})
	}
	marshal, unmarshal := jsonTargets(runtime.Version())
	return report{
		figures: []figure{
			versus("JSON, marshal", s, marshalOf(peers.Ours), marshalOf(peers.Bwmarrin), marshal),
			versus("JSON, unmarshal", s, unmarshalOf(peers.Ours), unmarshalOf(peers.Bwmarrin), unmarshal),
		},
		tables: []table{t},
	}
}

// jsonTargets depend on Go, whose encoding/json is another one since 1.27.
func jsonTargets(goVersion string) (marshal, unmarshal target) {
	if version.Compare(goVersion, "go1.27") < 0 {
		return atMost(0.65, "×"), atMost(0.95, "×")
	}
	return atMost(0.90, "×"), atMost(0.90, "×")
}

const (
	lagged    = "WithLag(10ms)"
	unlagged  = "no lag"
	burstSize = 40_000
)

// lag measures a burst of 40,000 IDs, ten milliseconds' worth at 12 bits, after
// a pause in which the lag could build up. Each burst is checked: its IDs rise,
// and none is ahead of the clock that was read right after it was made.
func lag() (experiment, error) {
	with, err := snowflake.New(snowflake.Static(0, 2), snowflake.WithLag(10*time.Millisecond))
	if err != nil {
		return experiment{}, err
	}
	without, err := snowflake.New(snowflake.Static(0, 3))
	if err != nil {
		return experiment{}, err
	}
	node, err := bwmarrin.NewNode(3)
	if err != nil {
		return experiment{}, err
	}
	ctx := context.Background()
	windows := []window{
		lagWindow(lagged, with.Layout(), nexts(ctx, with)),
		lagWindow(unlagged, without.Layout(), nexts(ctx, without)),
		lagWindow(peers.Bwmarrin, snowflake.TwitterLayout(), func(ids []types.ID) error {
			for i := range ids {
				ids[i] = types.ID(node.Generate())
			}
			return nil
		}),
	}
	return experiment{
		name:   "lag",
		run:    func(e effort) (sample, error) { return interleave(windows, e.windows(20), 0.5) },
		report: reportLag,
	}, nil
}

// nexts makes IDs one by one.
func nexts(ctx context.Context, gen *snowflake.Generator) func([]types.ID) error {
	return func(ids []types.ID) (err error) {
		for i := range ids {
			if ids[i], err = gen.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// A mark is the clock after a stretch of a burst.
type mark struct {
	ids int
	at  time.Time
}

// stretch is how many IDs lie between two readings of the clock.
const stretch = 500

func lagWindow(name string, layout snowflake.Layout, fill func([]types.ID) error) window {
	ids, marks := make([]types.ID, burstSize), make([]mark, 0, burstSize/stretch)
	return window{name, func() (float64, error) {
		time.Sleep(15 * time.Millisecond)
		marks = marks[:0]
		ns, err := timed(1, func() error {
			for i := 0; i < burstSize; i += stretch {
				if err := fill(ids[i : i+stretch]); err != nil {
					return err
				}
				marks = append(marks, mark{i + stretch, time.Now()})
			}
			return nil
		})
		if err == nil {
			err = inOrder(layout, ids, marks)
		}
		return ns, err
	}}
}

// inOrder checks each stretch by its last ID, since IDs rise.
func inOrder(layout snowflake.Layout, ids []types.ID, marks []mark) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return fmt.Errorf("ID %d of a burst is %v, after %v", i, ids[i], ids[i-1])
		}
	}
	for _, m := range marks {
		if lead := layout.Time(ids[m.ids-1]).Sub(m.at); lead > 0 {
			return fmt.Errorf("ID %d of a burst is %v ahead of the clock", m.ids-1, lead)
		}
	}
	return nil
}

func reportLag(s series) report {
	burst := plain("burst of 40,000 with WithLag(10ms), none ahead of the clock", scaled(s[lagged], 1e-6), atMost(1, "ms")).
		against(s[peers.Bwmarrin], 1e-6)
	return report{
		figures: []figure{burst},
		tables:  []table{perName("Burst of 40,000, ns", "ns", []string{lagged, unlagged, peers.Bwmarrin}, s)},
	}
}

// allocs is the name of a count of allocations in a sample.
const allocs = "allocations"

// allocations returns how many one call of f makes, averaged over n calls and
// rounded down, since the runtime makes some of its own at the same time.
func allocations(n int, f func() error) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if err := f(); err != nil { // what is allocated once is not counted
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / uint64(n)), nil
}
