package types_test

import (
	"encoding/json"
	"testing"

	"github.com/gormflake/gormflake/types"
)

type benchRow struct {
	ID   types.ID
	Name string
}

func BenchmarkMarshalJSON(b *testing.B) {
	b.ReportAllocs()
	row := benchRow{sample, "order"}
	for b.Loop() {
		if _, err := json.Marshal(row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	for name, text := range map[string]string{
		"string": `{"ID":"7529595880471527425","Name":"order"}`,
		"number": `{"ID":7529595880471527425,"Name":"order"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			in := []byte(text)
			for b.Loop() {
				var row benchRow
				if err := json.Unmarshal(in, &row); err != nil {
					b.Fatal(err)
				}
			}
		})
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
	for name, src := range map[string]any{"int64": sample.Int64(), "bytes": []byte(sample.String())} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var id types.ID
			for b.Loop() {
				if err := id.Scan(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
