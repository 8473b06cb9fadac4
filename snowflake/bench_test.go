package snowflake_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// wideLayout returns a layout whose ticks are never full, so that a benchmark measures
// calls and not waits.
func wideLayout() snowflake.Layout {
	return snowflake.Layout{Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, WorkerBits: 4, SequenceBits: 20}
}

// BenchmarkNext measures Next where ticks are never full, and at the cap of Twitter's
// layout, 4,096 IDs a millisecond, where calls wait.
func BenchmarkNext(b *testing.B) {
	for name, option := range map[string]snowflake.Option{
		"wide": snowflake.WithLayout(wideLayout()),
		"cap":  snowflake.WithLayout(snowflake.TwitterLayout()),
	} {
		b.Run(name, func(b *testing.B) {
			g := open(b, snowflake.Static(0, 15), option)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Next(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNextParallel(b *testing.B) {
	g := open(b, snowflake.Static(0, 15), snowflake.WithLayout(wideLayout()))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(ctx); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkFill1000(b *testing.B) {
	l := wideLayout() // a million IDs per tick, one per nanosecond, which Fill cannot use up
	l.WorkerBits, l.SequenceBits = 1, 22
	g := open(b, snowflake.Static(0, 1), snowflake.WithLayout(l))
	dst := make([]id, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Fill(ctx, dst); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/id")
}

func BenchmarkDecompose(b *testing.B) {
	l := snowflake.TwitterLayout()
	b.ReportAllocs()
	for b.Loop() {
		l.Decompose(1541815603606036480)
	}
}
