package service

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"net/http"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/plain"
	"github.com/gormflake/gormflake/types"
)

// idFields is the answer to GET /v1/ids/{id}: the parts of an ID, and its other forms.
type idFields struct {
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
	Base32     string   `json:"base32"`
	Base58     string   `json:"base58"`
	Base62     string   `json:"base62"`
}

// read answers GET /v1/ids/{id} with the parts of an ID. The ID is a decimal number, unless
// the parameter "as" names another form, as in /v1/ids/5VZ4ptk2d7i?as=base58.
func (s *service) read(w http.ResponseWriter, r *http.Request) error {
	form, given, err := parameter(r.URL.RawQuery, "as")
	if err != nil {
		return err
	}
	parse, isForm := parsers[form]
	if !given {
		parse, isForm = types.ParseID, true
	}
	if !isForm {
		return failf(http.StatusBadRequest, "as=%.40q: want base32, base58 or base62, or no such parameter for a decimal number", form)
	}
	text := r.PathValue("id")
	if len(text) > longestForm {
		return failf(http.StatusBadRequest, "an ID of %d characters: want at most %d", len(text), longestForm)
	}
	id, err := parse(text)
	if err != nil {
		return failf(http.StatusBadRequest, "%s", plain.Words(err.Error()))
	}
	switch {
	case id == 0:
		return failf(http.StatusBadRequest, "0 is not an ID: it stands for one that is not assigned yet")
	case id > s.last:
		return failf(http.StatusBadRequest, "ID %d is above %d, the last one of the layout", id, s.last)
	}
	return reply(w, s.parts(id))
}

// longestForm is the length of the largest ID in decimal, which is the longest form.
const longestForm = len("9223372036854775807")

// parsers maps each value of the parameter "as" to the function that parses this form.
var parsers = map[string]func(string) (types.ID, error){
	"base32": types.ParseBase32,
	"base58": types.ParseBase58,
	"base62": types.ParseBase62,
}

// parts returns the parts and forms of an ID of the layout.
func (s *service) parts(id types.ID) idFields {
	p := s.Layout.Decompose(id)
	return idFields{
		ID: id, Time: stamp(p.Time), Datacenter: p.Datacenter, Worker: p.Worker, Sequence: p.Sequence,
		Base32: id.Base32(), Base58: id.Base58(), Base62: id.Base62(),
	}
}

// layoutFields is the answer to GET /v1/layout: how the bits of an ID are divided, and when
// its time begins and ends.
type layoutFields struct {
	Epoch          string `json:"epoch"`
	TickMS         int64  `json:"tick_ms"`
	DatacenterBits uint8  `json:"datacenter_bits"`
	WorkerBits     uint8  `json:"worker_bits"`
	SequenceBits   uint8  `json:"sequence_bits"`
	TotalBits      uint8  `json:"total_bits"`
	Expires        string `json:"expires"`
}

// layout answers GET /v1/layout with the layout of the IDs that the service issues and reads.
func (s *service) layout(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
		return err
	}
	l := s.Layout
	return reply(w, layoutFields{
		Epoch: stamp(l.Epoch), TickMS: l.Tick.Milliseconds(),
		DatacenterBits: l.DatacenterBits, WorkerBits: l.WorkerBits, SequenceBits: l.SequenceBits,
		TotalBits: cmp.Or(l.TotalBits, 63), Expires: stamp(l.Expires()), // a TotalBits of zero means 63
	})
}

//go:embed openapi.json
var openAPIText []byte

// openAPI returns the answer to GET /openapi.json. In the file, the maximum of the parameter
// count is HighestMaxCount, which openAPI replaces by the MaxCount of this service.
func (s *service) openAPI() answer {
	document := bytes.Replace(openAPIText, []byte(`"maximum": 1000000`), fmt.Appendf(nil, `"maximum": %d`, s.MaxCount), 1)
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
			return err
		}
		writeText(w, http.StatusOK, jsonType, document)
		return nil
	}
}
