package claims_test

import (
	"testing"
	"time"

	"github.com/sony/sonyflake/v2"
)

// sonyFlake returns a function that takes IDs from a new generator of machine 1.
func sonyFlake(t *testing.T) func() (int64, error) {
	t.Helper()
	flake, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return flake.NextID
}

// A process that restarts after its clock was set back issues the same IDs again, because the
// library does not store up to which time it has issued IDs.
func TestSonyflakeRestartWithTheClockSetBackRepeats(t *testing.T) {
	t.Parallel()
	var runs [2][]int64
	for i := range runs {
		inRestartedProcess(t, func(t *testing.T) { runs[i] = take(t, 1000, sonyFlake(t)) })
	}
	if n := repeats(runs[0], runs[1]); n != 1000 {
		t.Errorf("%d of 1000 IDs repeat, want all", n)
	}
}

// Two generators with the same machine in one process issue the same IDs. The library does
// not notice that the machine is in use.
func TestSonyflakeEqualMachinesRepeat(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		first := take(t, 200, sonyFlake(t))
		if n := repeats(first, take(t, 200, sonyFlake(t))); n != 200 {
			t.Errorf("%d of 200 IDs of a second machine 1 in the same process repeat, want all", n)
		}
	})
}

// TestSonyflakeRate checks that the default layout allows 256 IDs in 10 ms, which is 25,600
// in a second.
func TestSonyflakeRate(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		start := time.Now()
		take(t, 25_600, sonyFlake(t))
		if took := time.Since(start); took < 980*time.Millisecond || took > time.Second {
			t.Errorf("25,600 IDs took %v, want a second", took)
		}
	})
}

// The library's IDs are numbers in JSON, of which JavaScript rounds some.
func TestSonyflakeNumbersLoseDigitsInJavaScript(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		lost := 0
		for _, id := range take(t, 1000, sonyFlake(t)) {
			read, ok := throughJavaScript(t, id).(float64)
			if !ok {
				t.Fatalf("%d is not a number in JSON", id)
			}
			if int64(read) != id {
				lost++
			}
		}
		if lost == 0 {
			t.Error("no ID has lost digits")
		}
	})
}

// TestSonyflakeFitsInto53Bits checks that a sequence and a machine of 8 bits each keep the
// IDs of the year 2060 below 2^53, so that JavaScript can read them. 37 bits are then left
// for time, in units of 10 ms.
func TestSonyflakeFitsInto53Bits(t *testing.T) {
	t.Parallel()
	flake, err := sonyflake.New(sonyflake.Settings{
		BitsSequence: 8, BitsMachineID: 8,
		MachineID: func() (int, error) { return 1, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	in2060, err := flake.Compose(time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC), 255, 255)
	if err != nil || in2060 >= 1<<53 {
		t.Errorf("%d, %v, want an ID below 2^53", in2060, err)
	}
}
