package lease_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// formats has the test vectors of testdata/format.json, which lease/README.md describes: the
// texts of layouts, and the records of workers with what a reader must see in them.
type formats struct {
	Layouts []struct {
		Owner          string
		EpochMS        int64 `json:"epoch_ms"`
		TickMS         int64 `json:"tick_ms"`
		DatacenterBits uint8 `json:"datacenter_bits"`
		WorkerBits     uint8 `json:"worker_bits"`
		SequenceBits   uint8 `json:"sequence_bits"`
		TotalBits      uint8 `json:"total_bits"`
	}
	Records []struct {
		Number, Worker int
		Bound          int64
		Owner, Holder  string
		Datacenter     int64
		WindowMS       int64 `json:"window_ms"`
	}
}

// The texts of layouts and holders in a store must not change, because processes of
// different versions and languages share a store. The lease must write and read them as
// testdata/format.json shows.
func TestFormat(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/format.json")
	if err != nil {
		t.Fatal(err)
	}
	var want formats
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, l := range want.Layouts {
		store := leasetest.NewMemory()
		own := snowflake.Layout{
			Epoch: time.UnixMilli(l.EpochMS), Tick: time.Duration(l.TickMS) * time.Millisecond,
			DatacenterBits: l.DatacenterBits, WorkerBits: l.WorkerBits, SequenceBits: l.SequenceBits, TotalBits: l.TotalBits,
		}
		held, err := lease.Acquire(t.Context(), store, own)
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := store.Records()[-1].Owner; got != l.Owner {
			t.Errorf("the layout is written as %q, want %q", got, l.Owner)
		}
	}
	store := leasetest.NewMemory()
	store.Put(-1, lease.Record{Owner: want.Layouts[0].Owner})
	for _, r := range want.Records {
		store.Put(r.Number, lease.Record{Bound: r.Bound, Owner: r.Owner})
	}
	holders := map[[2]int64]lease.Holder{}
	for _, h := range inspect(t, store).Holders {
		holders[[2]int64{h.Datacenter, h.Worker}] = h
	}
	for _, r := range want.Records {
		wanted := lease.Holder{
			Datacenter: r.Datacenter, Worker: int64(r.Worker), Owner: r.Holder,
			Until: time.UnixMilli(r.Bound), Window: time.Duration(r.WindowMS) * time.Millisecond,
		}
		if got := holders[[2]int64{r.Datacenter, int64(r.Worker)}]; got != wanted {
			t.Errorf("record %d %q is read as %+v, want %+v", r.Number, r.Owner, got, wanted)
		}
	}
}

// The owner that a lease writes has the form that lease/README.md describes:
// host/process/random/writes/replaced/window, and "/released" after a release.
func TestFormatOfOwners(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	held := acquire(t, store)
	form := regexp.MustCompile(`^[!-~]{1,36}/\d+/[A-Z2-7]{26}/\d+/0/60000$`)
	released := regexp.MustCompile(`^[!-~]{1,36}/\d+/[A-Z2-7]{26}/\d+/0/60000/released$`)
	s := held.Stats()
	number := int(s.Datacenter)<<layout().WorkerBits | int(s.Worker)
	if got := store.Records()[number]; !form.MatchString(got.Owner) || got.Bound%layout().Tick.Milliseconds() != 0 {
		t.Errorf("record %+v, want an owner of the form %v", got, form)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := store.Records()[number]; !released.MatchString(got.Owner) {
		t.Errorf("record %+v, want an owner of the form %v", got, released)
	}
}
