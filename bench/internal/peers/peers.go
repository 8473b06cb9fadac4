// Package peers provides gormflake and the generators with which it is compared, all behind
// one type of call.
package peers

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	godruoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// Bwmarrin is the name of the contender bwmarrin/snowflake. Benchmarks that call this peer
// directly report it under the same name.
const Bwmarrin = "bwmarrin"

// Cap is the largest rate that 12 bits of sequence in each millisecond allow, in IDs per second.
const Cap = 4096 * 1000

// epoch is the epoch of the peers that need one. So that the rates are comparable, all Snowflake
// peers use ticks of a millisecond, 10 bits of worker and 12 of sequence.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Contender is a generator that is compared.
type Contender struct {
	Name string

	// Loop generates n IDs. It contains the loop, so that a benchmark measures direct
	// calls of the generator, and not calls through a pointer.
	Loop func(n int) error

	// Capped reports whether 12 bits of sequence limit the rate.
	Capped bool
}

// Open creates the contenders, gormflake first. They live as long as the process.
func Open() ([]Contender, error) {
	ours, err := gormflake()
	if err != nil {
		return nil, err
	}
	leased, err := leased()
	if err != nil {
		return nil, err
	}
	bw, err := bwmarrinNode()
	if err != nil {
		return nil, err
	}
	sony, err := sony()
	if err != nil {
		return nil, err
	}
	// Each contender has a name, a loop, and whether 12 bits of sequence limit its rate.
	return []Contender{
		{"gormflake", ours, true},
		{"leased", leased, true},
		{Bwmarrin, bw, true},
		{"sonyflake", sony, true},
		{"yitter", yitter(), true},
		{"godruoyi", godruoyiLoop(), true},
		{"uuidv7", uuidV7, false},
		{"ulid", ulids, false},
	}, nil
}

// gormflake returns the loop of a generator of gormflake with a fixed worker.
func gormflake() (func(int) error, error) { return loopOf(snowflake.Static(0, 1)) }

// leased returns the loop of a generator of gormflake with a leased worker. The lease extends
// the generator's window in the background. Its store is in memory, so that a benchmark
// measures the generator and not a database.
func leased() (func(int) error, error) {
	l, err := lease.Acquire(context.Background(), leasetest.NewMemory(),
		snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	return loopOf(l)
}

// loopOf returns a loop that takes IDs from a new generator of gormflake. The source provides
// the worker of the generator.
func loopOf(source snowflake.WorkerSource) (func(int) error, error) {
	gen, err := snowflake.New(source)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := gen.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// bwmarrinNode returns a loop that takes IDs from a node of bwmarrin/snowflake.
func bwmarrinNode() (func(int) error, error) {
	node, err := bwmarrin.NewNode(1)
	if err != nil {
		return nil, fmt.Errorf("peers: bwmarrin: %w", err)
	}
	return func(n int) error {
		for range n {
			node.Generate()
		}
		return nil
	}, nil
}

// sony returns the loop of a generator of Sonyflake. Its ticks are a millisecond, and not 10 ms
// as in its default, so that its rate is comparable.
func sony() (func(int) error, error) {
	gen, err := sonyflake.New(sonyflake.Settings{
		BitsSequence:  12,
		BitsMachineID: 10,
		TimeUnit:      time.Millisecond,
		StartTime:     epoch,
		MachineID:     func() (int, error) { return 1, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("peers: sony: %w", err)
	}
	return func(n int) error {
		for range n {
			if _, err := gen.NextID(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// yitter returns the loop of a generator of yitter/idgenerator-go. It uses method 2, because
// method 1 takes IDs from the next milliseconds when the sequence of a millisecond is used up,
// so that its rate would not be comparable.
func yitter() func(int) error {
	options := idgen.NewIdGeneratorOptions(1)
	options.Method = 2
	options.BaseTime = epoch.UnixMilli()
	options.WorkerIdBitLength = 10
	options.SeqBitLength = 12
	gen := idgen.NewDefaultIdGenerator(options)
	return func(n int) error {
		for range n {
			gen.NewLong()
		}
		return nil
	}
}

// godruoyiLoop returns the loop of the generator of godruoyi/go-snowflake, of which a process
// has only one.
func godruoyiLoop() func(int) error {
	godruoyi.SetStartTime(epoch)
	godruoyi.SetMachineID(1)
	return func(n int) error {
		for range n {
			if _, err := godruoyi.NextID(); err != nil {
				return err
			}
		}
		return nil
	}
}

// uuidV7 creates n UUIDs of version 7.
func uuidV7(n int) error {
	for range n {
		if _, err := uuid.NewV7(); err != nil {
			return err
		}
	}
	return nil
}

// ulids creates n ULIDs.
func ulids(n int) error {
	for range n {
		ulid.Make()
	}
	return nil
}
