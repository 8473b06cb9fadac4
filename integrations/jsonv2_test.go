//go:build go1.27 || goexperiment.jsonv2

package integrations_test

import (
	jsonv2 "encoding/json/v2"
	"testing"
)

// encoding/json/v2 reads and writes IDs as encoding/json does.
func TestEncodingJSONv2(t *testing.T) {
	t.Parallel()
	checkJSON(t, codec{
		func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
		func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) },
	})
}
