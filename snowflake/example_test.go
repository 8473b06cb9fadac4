package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

func Example() {
	gen, err := snowflake.New(snowflake.Static(1, 7))
	if err != nil {
		panic(err)
	}
	defer gen.Close(context.Background())

	first, err := gen.Next(context.Background())
	if err != nil {
		panic(err)
	}
	second, err := gen.Next(context.Background())
	if err != nil {
		panic(err)
	}
	parts := gen.Layout().Decompose(second)
	fmt.Println(first < second, parts.Datacenter, parts.Worker)
	// Output: true 1 7
}

func ExampleGenerator_Fill() {
	gen, err := snowflake.New(snowflake.Static(1, 8))
	if err != nil {
		panic(err)
	}
	defer gen.Close(context.Background())

	ids := make([]types.ID, 1000)
	if err := gen.Fill(context.Background(), ids); err != nil {
		panic(err)
	}
	fmt.Println(ids[0] < ids[999], gen.Stats().Issued)
	// Output: true 1000
}

func ExampleGenerator_TryNext() {
	slow := snowflake.Layout{
		Epoch:        time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC),
		Tick:         time.Second,
		WorkerBits:   8,
		SequenceBits: 1, // two IDs per second
	}
	gen, err := snowflake.New(snowflake.Static(0, 9), snowflake.WithLayout(slow))
	if err != nil {
		panic(err)
	}
	defer gen.Close(context.Background())

	for err == nil {
		_, err = gen.TryNext()
	}
	fmt.Println(errors.Is(err, snowflake.ErrSequenceExhausted))
	// Output: true
}

func ExampleLayout_Decompose() {
	parts := snowflake.DiscordLayout().Decompose(175928847299117063)
	fmt.Println(parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Worker, parts.Sequence)
	// Output: 2016-04-30T11:18:25.796Z 1 0 7
}

func ExampleLayout_Min() {
	layout := snowflake.TwitterLayout()
	day := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	fmt.Printf("WHERE id >= %d AND id < %d\n", layout.Min(day), layout.Min(day.AddDate(0, 0, 1)))
	// Output: WHERE id >= 2123566994027446272 AND id < 2123929381893046272
}

func ExampleLayout_Validate() {
	layout := snowflake.TwitterLayout()
	layout.SequenceBits = 60
	fmt.Println(layout.Validate())
	// Output: snowflake: layout's datacenter, worker and sequence take 5+5+60 of 63 bits and leave none for time
}

func ExampleLayout_Expires() {
	fmt.Println(snowflake.TwitterLayout().Expires().Format(time.DateOnly))
	fmt.Println(snowflake.JSSafeLayout().Expires().Format(time.DateOnly))
	// Output:
	// 2080-07-10
	// 2194-03-18
}
