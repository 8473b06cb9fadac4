package main

import (
	"encoding/json"
	"fmt"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/gormflake/gormflake/bench/internal/peers"
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
	return all, nil
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
	return report{
		figures: []figure{
			versus("JSON, marshal", s, marshalOf(peers.Ours), marshalOf(peers.Bwmarrin), atMost(0.65, "×")),
			versus("JSON, unmarshal", s, unmarshalOf(peers.Ours), unmarshalOf(peers.Bwmarrin), atMost(0.95, "×")),
		},
		tables: []table{t},
	}
}
