package bench_test

import (
	"encoding/json"
	"errors"
	"testing"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/types"
)

// record is a row that a program sends to its clients, with a key and another field.
type record[T any] struct {
	ID   T      `json:"id"`
	Name string `json:"name"`
}

// BenchmarkJSON measures encoding/json on a struct of an ID and a name, in windows of 100
// calls.
func BenchmarkJSON(b *testing.B) {
	const sampleID = 1 << 60 // 19 digits, as IDs have
	all := appendStandardUUID([]codec{
		newCodec("gormflake", types.ID(sampleID)),
		newCodec(peers.Bwmarrin, bwmarrin.ID(sampleID)),
		newCodec("uuid", uuid.Max),
		newCodec("ulid", ulid.Make()),
		newCodec("int64", int64(sampleID)),
		newCodec("string", "1152921504606846976"),
	})
	b.Run("marshal", func(b *testing.B) {
		var windows []window
		for _, c := range all {
			windows = append(windows, callWindow(b, c.name, c.marshal))
		}
		interleave(b, 400, lowQuartile, windows)
	})
	b.Run("unmarshal", func(b *testing.B) {
		var windows []window
		for _, c := range all {
			windows = append(windows, callWindow(b, c.name, c.unmarshal))
		}
		interleave(b, 400, lowQuartile, windows)
	})
}

// codec contains the functions that marshal and unmarshal a kind of ID by encoding/json.
type codec struct {
	name               string
	marshal, unmarshal func() error
}

// newCodec returns the codec of a record with this ID.
func newCodec[T any](name string, id T) codec {
	var out record[T]
	in := record[T]{ID: id, Name: "a name"}
	text, marshalError := json.Marshal(in)
	return codec{
		name:      name,
		marshal:   func() error { _, err := json.Marshal(&in); return err },
		unmarshal: func() error { return errors.Join(marshalError, json.Unmarshal(text, &out)) },
	}
}

// callWindow returns a window of 100 calls, because one call is too short to be timed.
func callWindow(b *testing.B, peer string, call func() error) window {
	b.Helper()
	const calls = 100
	return window{peer, func() float64 {
		return nanosPerStep(b, calls, func() error {
			for range calls {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}
