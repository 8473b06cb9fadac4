package main_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// These are for profiles and for comparing one version with the next. They say
// nothing about the peers: with 12 bits of sequence all of them wait.

func BenchmarkNext(b *testing.B) {
	contenders, err := peers.Open()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range contenders {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Loop(1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFill(b *testing.B) {
	layout := snowflake.TwitterLayout()
	layout.DatacenterBits, layout.WorkerBits, layout.SequenceBits = 0, 0, 22
	gen, err := snowflake.New(snowflake.Static(0, 0), snowflake.WithLayout(layout))
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]types.ID, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := gen.Fill(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/ID")
}

func BenchmarkJSON(b *testing.B) {
	record := struct {
		ID   types.ID
		Name string
	}{1 << 60, "a name"}
	text, err := json.Marshal(record)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&record); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := json.Unmarshal(text, &record); err != nil {
				b.Fatal(err)
			}
		}
	})
}
