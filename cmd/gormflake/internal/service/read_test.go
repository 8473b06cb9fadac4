package service_test

import (
	"net/http"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/snowflake"
)

// The service takes an ID in each form apart, and refuses every other text. Another program
// has computed the wanted answers. An empty want stands for an error of package types, whose
// tests check the text.
func TestRead(t *testing.T) {
	t.Parallel()
	handler := open(t, nil)
	const tweet = `{"id":"1586025008237383682","time":"2022-10-28T16:00:03.540Z","datacenter":16,"worker":1,"sequence":2,` +
		`"base32":"1C0NHAY2E0402","base58":"4FwHzxqs7kL","base62":"1tA0hgPmavK"}`
	for _, test := range []struct {
		path   string
		status int
		want   string
	}{
		{"1586025008237383682", 200, tweet},
		{"1C0NHAY2E0402?as=base32", 200, tweet},
		{"1c0nhay2e0402?as=base32", 200, tweet},
		{"4FwHzxqs7kL?as=base58", 200, tweet},
		{"1tA0hgPmavK?as=base62", 200, tweet},
		{"9223372036854775807", 200, `{"id":"9223372036854775807","time":"2080-07-10T17:30:30.208Z","datacenter":31,"worker":31,"sequence":4095,` +
			`"base32":"7ZZZZZZZZZZZZ","base58":"npL6MjP8Qfc","base62":"AzL8n0Y58m7"}`},
		{"0", 400, `{"title":"Bad Request","status":400,"detail":"0 is not an ID: it stands for one that is not assigned yet"}`},
		{"0000000000000?as=base32", 400, `{"title":"Bad Request","status":400,"detail":"0 is not an ID: it stands for one that is not assigned yet"}`},
		{"1?as=base58", 400, `{"title":"Bad Request","status":400,"detail":"0 is not an ID: it stands for one that is not assigned yet"}`},
		{"9223372036854775808", 400, ""},
		{"-1", 400, ""},
		{"+1", 400, ""},
		{"%20" + "1", 400, ""},
		{"01", 400, ""},
		{"1e3", 400, ""},
		{"twelve", 400, ""},
		{"11111111111111111111", 400, `{"title":"Bad Request","status":400,"detail":"an ID of 20 characters: want at most 19"}`},
		{"1?as=decimal", 400, `{"title":"Bad Request","status":400,"detail":"as=\"decimal\": want base32, base58 or base62, or no such parameter for a decimal number"}`},
		{"1?as=", 400, `{"title":"Bad Request","status":400,"detail":"as=\"\": want base32, base58 or base62, or no such parameter for a decimal number"}`},
		{"1?form=base32", 400, `{"title":"Bad Request","status":400,"detail":"unknown parameter \"form\": want as"}`},
		{"1?as=base32&as=base58", 400, `{"title":"Bad Request","status":400,"detail":"as is given twice: want it once"}`},
	} {
		w := get(handler, "/v1/ids/"+test.path)
		if test.want == "" {
			if w.Code != test.status || w.Body.Len() < len(`{"title":"Bad Request","status":400,"detail":"`) {
				t.Errorf("%s: %d %s", test.path, w.Code, w.Body)
			}
			continue
		}
		expect(t, w, test.status, test.want)
	}
}

// The service rejects an ID above the layout's last, because its parts would be meaningless.
func TestReadBeyondTheLayout(t *testing.T) {
	t.Parallel()
	handler := open(t, nil, func(c *service.Config) { c.Layout = snowflake.JSSafeLayout() })
	if w := get(handler, "/v1/ids/9007199254740991"); w.Code != http.StatusOK {
		t.Errorf("the last ID: %d %s", w.Code, w.Body)
	}
	expect(t, get(handler, "/v1/ids/9007199254740992"), http.StatusBadRequest,
		`{"title":"Bad Request","status":400,"detail":"ID 9007199254740992 is above 9007199254740991, the last one of the layout"}`)
}

// GET /v1/layout returns all fields of the layout, by which the page and other programs
// decompose IDs.
func TestLayout(t *testing.T) {
	t.Parallel()
	expect(t, get(open(t, nil), "/v1/layout"), http.StatusOK,
		`{"epoch":"2010-11-04T01:42:54.657Z","tick_ms":1,"datacenter_bits":5,"worker_bits":5,"sequence_bits":12,"total_bits":63,"expires":"2080-07-10T17:30:30.209Z"}`)
	js := open(t, nil, func(c *service.Config) { c.Layout = snowflake.JSSafeLayout() })
	expect(t, get(js, "/v1/layout"), http.StatusOK,
		`{"epoch":"2020-01-01T00:00:00.000Z","tick_ms":10,"datacenter_bits":0,"worker_bits":6,"sequence_bits":8,"total_bits":53,"expires":"2194-03-18T03:28:58.880Z"}`)
	// A layout that does not state its bits in total has 63 of them.
	unsaid := snowflake.TwitterLayout()
	unsaid.TotalBits = 0
	expect(t, get(open(t, nil, func(c *service.Config) { c.Layout = unsaid }), "/v1/layout"), http.StatusOK, body(t, get(open(t, nil), "/v1/layout").Body))
	expect(t, get(js, "/v1/layout?as=yaml"), http.StatusBadRequest, `{"title":"Bad Request","status":400,"detail":"unknown parameter \"as\": want none"}`)
}
