package service

import (
	"cmp"
	"net/http"
)

type layout struct {
	Epoch          string `json:"epoch"`
	TickMS         int64  `json:"tick_ms"`
	DatacenterBits uint8  `json:"datacenter_bits"`
	WorkerBits     uint8  `json:"worker_bits"`
	SequenceBits   uint8  `json:"sequence_bits"`
	TotalBits      uint8  `json:"total_bits"`
	Expires        string `json:"expires"`
}

// layout answers GET /v1/layout.
func (s *service) layout(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
		return err
	}
	l := s.Layout
	return reply(w, layout{
		Epoch: stamp(l.Epoch), TickMS: l.Tick.Milliseconds(),
		DatacenterBits: l.DatacenterBits, WorkerBits: l.WorkerBits, SequenceBits: l.SequenceBits,
		TotalBits: cmp.Or(l.TotalBits, 63), Expires: stamp(l.Expires()), // 63 is what zero stands for
	})
}
