//go:build !race

package types_test

import (
	"encoding/json"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// No parser allocates memory, and no formatter more than its result. AllocsPerRun counts
// the allocations of all goroutines, so this test is not parallel. It does not run under
// the race detector, where sync.Pool, which encoding/json uses, drops items at random.
func TestAllocations(t *testing.T) {
	quoted, number, text := []byte(`"7529595880471527425"`), []byte(`7529595880471527425`), sample.String()
	base32, base58, base62 := sample.Base32(), sample.Base58(), sample.Base62()
	var fromInt, fromText any = sample.Int64(), number
	var row any = benchRow{sample, "order"}
	buf := make([]byte, 0, 32)
	var fromJSON any = string(quoted)
	var fromClient any = text
	cbor, _ := sample.MarshalCBOR()
	typedSample := ticketID(sample)
	var id types.ID
	var typed ticketID
	var kept []byte
	for _, test := range []struct {
		name string
		most float64
		f    func()
	}{
		{"ParseID", 0, func() { id, _ = types.ParseID(text) }},
		{"UnmarshalJSON string", 0, func() { _ = id.UnmarshalJSON(quoted) }},
		{"UnmarshalJSON number", 0, func() { _ = id.UnmarshalJSON(number) }},
		{"UnmarshalText", 0, func() { _ = id.UnmarshalText(number) }},
		{"UnmarshalParam", 0, func() { _ = id.UnmarshalParam(text) }},
		{"ParseBase32", 0, func() { id, _ = types.ParseBase32(base32) }},
		{"ParseBase58", 0, func() { id, _ = types.ParseBase58(base58) }},
		{"ParseBase62", 0, func() { id, _ = types.ParseBase62(base62) }},
		{"AppendText", 0, func() { buf, _ = sample.AppendText(buf[:0]) }},
		{"Scan int64", 0, func() { _ = id.Scan(fromInt) }},
		{"Scan []byte", 0, func() { _ = id.Scan(fromText) }},
		{"Scan a string of JSON", 0, func() { _ = id.Scan(fromJSON) }},
		{"AppendBinary", 0, func() { buf, _ = sample.AppendBinary(buf[:0]) }},
		{"UnmarshalBinary", 0, func() { _ = id.UnmarshalBinary(number) }},
		{"UnmarshalCBOR", 0, func() { _ = id.UnmarshalCBOR(cbor) }},
		{"UnmarshalGQL", 0, func() { _ = id.UnmarshalGQL(fromClient) }},
		{"Of: UnmarshalJSON", 0, func() { _ = typed.UnmarshalJSON(quoted) }},
		{"Of: Scan", 0, func() { _ = typed.Scan(fromInt) }},
		{"Of: AppendText", 0, func() { buf, _ = typedSample.AppendText(buf[:0]) }},
		{"MarshalBinary", 1, func() { kept, _ = sample.MarshalBinary() }},
		{"MarshalCBOR", 1, func() { kept, _ = sample.MarshalCBOR() }},
		{"Of: String", 1, func() { text = typedSample.String() }},
		{"MarshalText", 1, func() { kept, _ = sample.MarshalText() }},
		{"json.Marshal of a struct", 2, func() { kept, _ = json.Marshal(row) }},
		{"String", 1, func() { text = sample.String() }},
		{"Base32", 1, func() { base32 = sample.Base32() }},
		{"Base58", 1, func() { base58 = sample.Base58() }},
		{"Base62", 1, func() { base62 = sample.Base62() }},
	} {
		if got := testing.AllocsPerRun(100, test.f); got > test.most {
			t.Errorf("%s: %v allocations, want at most %v", test.name, got, test.most)
		}
	}
	if id != sample || typed != typedSample || string(kept) != `{"ID":"7529595880471527425","Name":"order"}` {
		t.Errorf("got %d, %s", id, kept)
	}
}
