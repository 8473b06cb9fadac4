package snowflake_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Decompose must convert these IDs into these parts, and Compose the parts into the IDs. Do
// not edit the IDs and parts to make the test pass, because such IDs are stored in
// databases. The IDs of Twitter and Discord are public, and others have published their
// parts.
func TestDecomposeGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		layout snowflake.Layout
		id     types.ID
		want   snowflake.Parts
	}{
		{
			"discord's documentation", snowflake.DiscordLayout(), 175928847299117063,
			snowflake.Parts{Time: date("2016-04-30T11:18:25.796Z"), Datacenter: 1, Worker: 0, Sequence: 7},
		},
		{
			"a tweet of June 2022", snowflake.TwitterLayout(), 1541815603606036480,
			snowflake.Parts{Time: date("2022-06-28T16:07:40.105Z"), Datacenter: 11, Worker: 26, Sequence: 0},
		},
		{
			"twitter's last", snowflake.TwitterLayout(), 1<<63 - 1,
			snowflake.Parts{Time: date("2080-07-10T17:30:30.208Z"), Datacenter: 31, Worker: 31, Sequence: 4095},
		},
		{
			"javascript's last exact integer", snowflake.JSSafeLayout(), 1<<53 - 1,
			snowflake.Parts{Time: date("2194-03-18T03:28:58.870Z"), Worker: 63, Sequence: 255},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.layout.Decompose(tt.id); got != tt.want {
				t.Errorf("Decompose(%d)\n got %+v\nwant %+v", tt.id, got, tt.want)
			}
			if got, err := tt.layout.Compose(tt.want); got != tt.id || err != nil {
				t.Errorf("Compose(%+v) = %d, %v, want %d", tt.want, got, err, tt.id)
			}
		})
	}
}

// date parses a time of the form 2026-11-20T12:00:00Z.
func date(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// The times at which the layouts of the package expire are documented, so they must not
// change.
func TestPresets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		layout  snowflake.Layout
		expires string
	}{
		{"twitter", snowflake.TwitterLayout(), "2080-07-10T17:30:30.209Z"},
		{"javascript", snowflake.JSSafeLayout(), "2194-03-18T03:28:58.88Z"},
		{"discord", snowflake.DiscordLayout(), "2084-09-06T15:47:35.552Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.layout.Validate(); err != nil {
				t.Error(err)
			}
			if got := tt.layout.Expires().Format(time.RFC3339Nano); got != tt.expires {
				t.Errorf("Expires() = %s, want %s", got, tt.expires)
			}
		})
	}
}

// Validate and New reject a layout that cannot issue, or whose times a generator cannot
// count.
func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*snowflake.Layout)
		want   string
	}{
		{"no tick", func(l *snowflake.Layout) { l.Tick = 0 }, "snowflake: layout's tick 0s: want whole milliseconds, at least 1ms"},
		{"part of a millisecond", func(l *snowflake.Layout) { l.Tick = 1500 * time.Microsecond }, "snowflake: layout's tick 1.5ms: want whole milliseconds, at least 1ms"},
		{"before 1970", func(l *snowflake.Layout) { l.Epoch = date("1969-12-31T23:59:59.999Z") }, "is before 1970-01-01T00:00:00Z"},
		{"no epoch", func(l *snowflake.Layout) { l.Epoch = time.Time{} }, "is before 1970-01-01T00:00:00Z"},
		{"part of a tick", func(l *snowflake.Layout) { l.Tick = time.Second }, "is not a whole number of ticks of 1s since"},
		{"part of the smallest tick", func(l *snowflake.Layout) { l.Epoch = l.Epoch.Add(time.Microsecond) }, "is not a whole number of ticks of 1ms since"},
		{"epoch out of reach", func(l *snowflake.Layout) { l.Epoch = date("2262-04-11T23:47:16.855Z") }, "is after 2262-04-11T23:47:16.854Z"},
		{"epoch in the far future", func(l *snowflake.Layout) { l.Epoch = time.Unix(1<<62, 0) }, "is after 2262-04-11T23:47:16.854Z"},
		{"one tick", func(l *snowflake.Layout) { l.Epoch, l.Tick = time.UnixMilli(0), 150*365*24*time.Hour }, "snowflake: layout's tick 1314000h0m0s: want at most half of"},
		{"64 bits", func(l *snowflake.Layout) { l.TotalBits = 64 }, "snowflake: layout has 64 bits in total: want at most 63"},
		{"no time", func(l *snowflake.Layout) { l.TotalBits = 22 }, "take 5+5+12 of 22 bits and leave none for time"},
		{"sum over 255", func(l *snowflake.Layout) { l.DatacenterBits, l.WorkerBits, l.SequenceBits = 200, 50, 12 }, "take 200+50+12 of 63 bits"},
		{"two mistakes", func(l *snowflake.Layout) { l.Tick, l.TotalBits = 0, 64 }, "\nsnowflake: layout has 64 bits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := snowflake.TwitterLayout()
			tt.change(&l)
			err := l.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want %q", err, tt.want)
			}
			if _, err := snowflake.New(snowflake.Static(0, 0), snowflake.WithLayout(l)); err == nil {
				t.Error("New accepts the layout")
			}
		})
	}
}

// A layout whose only field is the time has more bits than a generator can count. This is no
// error. Such a layout expires when the nanoseconds since 1970 no longer fit into an int64.
func TestLayoutOfNothingButTime(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{time.Millisecond, time.Hour} {
		l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: tick}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		if want := time.Unix(0, math.MaxInt64).Truncate(tick); !l.Expires().Equal(want) {
			t.Errorf("ticks of %v: Expires() = %v, want %v", tick, l.Expires(), want)
		}
		at := date("2026-11-20T00:00:00Z")
		if got := l.Time(l.Min(at)); !got.Equal(at) {
			t.Errorf("ticks of %v: Time(Min(%v)) = %v", tick, at, got)
		}
	}
}

// Two layouts that give the same IDs are equal, even if their fields differ. Here the epochs
// are in different time zones, and one TotalBits is zero, which means 63.
func TestLayoutEqual(t *testing.T) {
	t.Parallel()
	l := snowflake.TwitterLayout()
	same := l
	same.Epoch, same.TotalBits = l.Epoch.In(time.FixedZone("east", 3600)), 0
	if !l.Equal(same) {
		t.Error("another zone and the default width make another layout")
	}
	same.WorkerBits++
	if l.Equal(same) {
		t.Error("another width is the same layout")
	}
}

// Compose returns an error that names the range of the part that does not fit.
func TestComposeRefuses(t *testing.T) {
	t.Parallel()
	good := snowflake.Parts{Time: date("2026-11-20T00:00:00Z"), Datacenter: 1, Worker: 2, Sequence: 3}
	for _, tt := range []struct {
		name   string
		change func(*snowflake.Parts)
		want   string
	}{
		{"worker", func(p *snowflake.Parts) { p.Worker = 32 }, "snowflake: worker 32 out of range [0, 31]"},
		{"negative worker", func(p *snowflake.Parts) { p.Worker = -1 }, "snowflake: worker -1 out of range [0, 31]"},
		{"datacenter", func(p *snowflake.Parts) { p.Datacenter = 32 }, "snowflake: datacenter 32 out of range [0, 31]"},
		{"sequence", func(p *snowflake.Parts) { p.Sequence = 4096 }, "snowflake: sequence 4096 out of range [0, 4095]"},
		{"before the epoch", func(p *snowflake.Parts) { p.Time = date("2010-11-04T01:42:54.656Z") }, "out of range [2010-11-04"},
		{"expired", func(p *snowflake.Parts) { p.Time = date("2080-07-10T17:30:30.209Z") }, "out of range [2010-11-04"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := good
			tt.change(&p)
			id, err := snowflake.TwitterLayout().Compose(p)
			if id != 0 || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Compose(%+v) = %d, %v, want %q", p, id, err, tt.want)
			}
		})
	}
}

// For times before the epoch, Min and Max return 0. For times after the layout's end, Max
// returns the last ID, and Min the last ID or a larger number. This must also hold for times
// so far away that a time.Duration from the epoch overflows. Compose must reject the times
// after the end.
func TestMinMaxOfFarTimes(t *testing.T) {
	t.Parallel()
	wideLayout := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond}
	for name, l := range map[string]snowflake.Layout{"twitter": snowflake.TwitterLayout(), "javascript": snowflake.JSSafeLayout(), "time alone": wideLayout} {
		for _, past := range []time.Time{{}, time.Unix(math.MinInt64, 0), time.Unix(-1<<40, 0)} {
			if l.Min(past) != 0 || l.Max(past) != 0 {
				t.Errorf("%s: %v is [%d, %d], want [0, 0]", name, past, l.Min(past), l.Max(past))
			}
		}
		end := l.Max(l.Expires())
		for _, future := range []time.Time{time.Unix(1<<40, 0), time.UnixMilli(math.MaxInt64), time.Unix(1<<62, 0)} {
			if l.Max(future) != end || l.Min(future) < end {
				t.Errorf("%s: %v is [%d, %d], want %d or above", name, future, l.Min(future), l.Max(future), end)
			}
			if _, err := l.Compose(snowflake.Parts{Time: future}); err == nil {
				t.Errorf("%s: Compose accepts %v", name, future)
			}
		}
	}
}

// Every ID is in the range of its time, adjacent ranges do not overlap and leave no ID
// out, and Min and Max rise with the time.
func TestRangesSampled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		l := sampleLayout(r)
		life := l.Expires().Sub(l.Epoch)
		draw := func() time.Time { return l.Epoch.Add(time.Duration(r.Int64N(int64(life)))) }
		times := []time.Time{draw(), draw(), draw(), draw()}
		slices.SortFunc(times, time.Time.Compare)
		id := types.ID(r.Int64N(int64(l.Max(l.Expires())))) + 1
		if first, end := l.Range(l.Time(id), l.Time(id).Add(l.Tick)); id < first || id >= end && end <= l.Max(l.Expires()) {
			t.Fatalf("%v: %d is not in the range of its tick [%d, %d)", l, id, first, end)
		}
		for i, from := range times {
			if l.Min(from) > l.Max(from) || l.Max(from)-l.Min(from) != l.Max(l.Epoch) {
				t.Fatalf("%v: the tick of %v is [%d, %d]", l, from, l.Min(from), l.Max(from))
			}
			if i == 0 {
				continue
			}
			first, end := l.Range(times[0], times[i-1])
			next, last := l.Range(times[i-1], from)
			if first > end || end != next || next > last || l.Max(times[i-1]) > l.Max(from) {
				t.Fatalf("%v: ranges [%d, %d) and [%d, %d)", l, first, end, next, last)
			}
		}
		if first, end := l.Range(times[3], times[0]); first < end {
			t.Fatalf("%v: a range that ends before it starts is [%d, %d)", l, first, end)
		}
	}
}

// Min and Max are the first and the last ID of a tick. At the ends of the layout they are
// clamped.
func TestMinMax(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]snowflake.Layout{"twitter": snowflake.TwitterLayout(), "javascript": snowflake.JSSafeLayout()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := date("2026-11-20T12:34:56.789Z")
			for _, id := range []types.ID{l.Min(at), l.Max(at)} {
				if got := l.Time(id); got.After(at) || at.Sub(got) >= l.Tick {
					t.Errorf("Time(%d) = %v, want the tick of %v", id, got, at)
				}
			}
			if l.Time(l.Min(at)-1).Equal(l.Time(l.Min(at))) || l.Time(l.Max(at)+1).Equal(l.Time(l.Max(at))) {
				t.Error("Min and Max are not the ends of the tick")
			}
			last := types.ID(1)<<l.TotalBits - 1
			if got := l.Max(l.Expires()); got != last {
				t.Errorf("Max past the end = %d, want %d", got, last)
			}
			if got, want := l.Min(l.Expires()), max(last, last+1); got != want { // Twitter's layout ends with int64
				t.Errorf("Min past the end = %d, want %d", got, want)
			}
			before := l.Epoch.Add(-time.Hour)
			if l.Min(before) != 0 || l.Max(before) != 0 {
				t.Errorf("before the epoch: [%d, %d], want [0, 0]", l.Min(before), l.Max(before))
			}
		})
	}
}

// sampleLayout returns a random valid layout.
func sampleLayout(r *rand.Rand) snowflake.Layout {
	for {
		l := snowflake.Layout{
			Tick:           time.Duration(1+r.IntN(1000)) * time.Millisecond,
			DatacenterBits: uint8(r.IntN(12)),
			WorkerBits:     uint8(r.IntN(16)),
			SequenceBits:   uint8(r.IntN(24)),
			TotalBits:      uint8(40 + r.IntN(24)),
		}
		l.Epoch = time.UnixMilli(r.Int64N(1_700_000_000_000) / l.Tick.Milliseconds() * l.Tick.Milliseconds())
		if l.Validate() == nil {
			return l
		}
	}
}

// Compose is the inverse of Decompose, in random layouts.
func TestComposeDecomposeSampled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l := sampleLayout(r)
		for range 50 {
			id := types.ID(r.Int64N(int64(l.Max(l.Expires())))) + 1
			p := l.Decompose(id)
			if back, err := l.Compose(p); back != id || err != nil {
				t.Fatalf("%v: Compose(Decompose(%d)) = %d, %v", l, id, back, err)
			}
			if id < l.Min(p.Time) || id > l.Max(p.Time) {
				t.Fatalf("%v: %d is outside of [%d, %d]", l, id, l.Min(p.Time), l.Max(p.Time))
			}
		}
	}
}

// FuzzLayout looks for a layout and a number for which a method panics, or Compose is not
// the inverse of Decompose.
func FuzzLayout(f *testing.F) {
	f.Add(int64(1288834974657), int64(1), uint8(5), uint8(5), uint8(12), uint8(63), int64(1541815603606036480))
	f.Add(int64(0), int64(10), uint8(0), uint8(6), uint8(8), uint8(53), int64(-1))
	f.Add(int64(-1), int64(1<<40), uint8(255), uint8(255), uint8(255), uint8(255), int64(0))
	f.Fuzz(func(t *testing.T, epoch, tick int64, datacenter, worker, sequence, total uint8, n int64) {
		l := snowflake.Layout{
			Epoch: time.UnixMilli(epoch), Tick: time.Duration(tick) * time.Millisecond,
			DatacenterBits: datacenter, WorkerBits: worker, SequenceBits: sequence, TotalBits: total,
		}
		if l.Validate() != nil {
			return
		}
		id := types.ID(n)
		p := l.Decompose(id)
		if id < 0 || id > l.Max(l.Expires()) {
			return // an ID of another layout has meaningless parts, but no panic
		}
		if back, err := l.Compose(p); back != id || err != nil {
			t.Errorf("%v: Compose(Decompose(%d)) = %d, %v", l, id, back, err)
		}
		if id < l.Min(p.Time) || id > l.Max(p.Time) {
			t.Errorf("%v: %d is outside of [%d, %d]", l, id, l.Min(p.Time), l.Max(p.Time))
		}
	})
}

// The methods of an invalid layout do not panic.
func TestInvalidLayoutsDoNotPanic(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]snowflake.Layout{
		"zero":           {},
		"no tick":        {Epoch: date("2020-01-01T00:00:00Z"), WorkerBits: 10},
		"negative tick":  {Tick: -time.Hour, WorkerBits: 10},
		"too many bits":  {Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, DatacenterBits: 200, WorkerBits: 200, SequenceBits: 200},
		"too many total": {Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, TotalBits: 255},
		"before 1970":    {Epoch: time.UnixMilli(math.MinInt64), Tick: time.Millisecond, WorkerBits: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if l.Validate() == nil {
				t.Fatal("the layout is valid")
			}
			for _, at := range []time.Time{{}, date("2026-11-20T12:00:00Z"), time.UnixMilli(math.MaxInt64)} {
				id, _ := l.Compose(snowflake.Parts{Time: at})
				l.Decompose(id)
				l.Time(l.Min(at))
				l.Time(l.Max(at))
			}
			_, _ = l.Expires(), l.String()
			if l.Equal(snowflake.TwitterLayout()) {
				t.Error("equals a valid layout")
			}
		})
	}
}
