package types_test

import (
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/gormflake/gormflake/types"
)

type (
	benchRow struct {
		ID   types.ID
		Name string
	}
	typedBenchRow struct {
		ID   ticketID
		Name string
	}
)

func BenchmarkMarshalJSON(b *testing.B) {
	for name, row := range map[string]any{
		"ID": benchRow{sample, "order"}, "Of": typedBenchRow{ticketID(sample), "order"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	for form, text := range map[string]string{
		"string": `{"ID":"7529595880471527425","Name":"order"}`,
		"number": `{"ID":7529595880471527425,"Name":"order"}`,
	} {
		for name, row := range map[string]any{"ID": &benchRow{}, "Of": &typedBenchRow{}} {
			b.Run(form+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				in := []byte(text)
				for b.Loop() {
					if err := json.Unmarshal(in, row); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	for name, format := range map[string]func(types.ID) string{
		"decimal": types.ID.String, "base32": types.ID.Base32,
		"base58": types.ID.Base58, "base62": types.ID.Base62,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				format(sample)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, form := range []struct {
		name  string
		parse func(string) (types.ID, error)
		in    string
	}{
		{"decimal", types.ParseID, sample.String()},
		{"base32", types.ParseBase32, sample.Base32()},
		{"base58", types.ParseBase58, sample.Base58()},
		{"base62", types.ParseBase62, sample.Base62()},
	} {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := form.parse(form.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for form, src := range map[string]any{"int64": sample.Int64(), "bytes": []byte(sample.String())} {
		for name, dest := range map[string]sql.Scanner{"ID": new(types.ID), "Of": new(ticketID)} {
			b.Run(form+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := dest.Scan(src); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkArray(b *testing.B) {
	ids := make(types.IDs, 1000)
	for i := range ids {
		ids[i] = sample + types.ID(i)
	}
	value, _ := ids.Value()
	b.Run("Value", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ids.Value(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := ids.Scan(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
