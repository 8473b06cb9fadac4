package service

import (
	"cmp"
	"net/http"
)

type layout struct {
	Epoch            string `json:"epoch"`
	TickMilliseconds int64  `json:"tickMilliseconds"`
	DatacenterBits   uint8  `json:"datacenterBits"`
	WorkerBits       uint8  `json:"workerBits"`
	SequenceBits     uint8  `json:"sequenceBits"`
	TotalBits        uint8  `json:"totalBits"`
	Expires          string `json:"expires"`
}

// widest is what a layout of zero total bits has.
const widest = 63

// layout answers GET /v1/layout.
func (s *service) layout(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
		return err
	}
	l := s.Layout
	return reply(w, layout{
		Epoch: stamp(l.Epoch), TickMilliseconds: l.Tick.Milliseconds(),
		DatacenterBits: l.DatacenterBits, WorkerBits: l.WorkerBits, SequenceBits: l.SequenceBits,
		TotalBits: cmp.Or(l.TotalBits, widest), Expires: stamp(l.Expires()),
	})
}
