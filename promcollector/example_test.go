package promcollector_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gormflake/gormflake/promcollector"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

func Example() {
	gen, err := snowflake.New(snowflake.Static(0, 1))
	if err != nil {
		panic(err)
	}
	defer gen.Close(context.Background())

	registry := prometheus.NewRegistry() // or prometheus.MustRegister, and promhttp.Handler
	registry.MustRegister(promcollector.New(gen))

	if err := gen.Fill(context.Background(), make([]types.ID, 1000)); err != nil {
		panic(err)
	}
	issued := `
# HELP gormflake_ids_issued_total IDs issued.
# TYPE gormflake_ids_issued_total counter
gormflake_ids_issued_total 1000
`
	fmt.Println(testutil.GatherAndCompare(registry, strings.NewReader(issued), "gormflake_ids_issued_total"))
	// Output: <nil>
}

func ExampleWithLabels() {
	registry := prometheus.NewRegistry()
	for i, name := range []string{"orders", "events"} {
		gen, err := snowflake.New(snowflake.Static(0, int64(2+i)))
		if err != nil {
			panic(err)
		}
		defer gen.Close(context.Background())
		registry.MustRegister(promcollector.New(gen, promcollector.WithLabels(prometheus.Labels{"generator": name})))
	}
	n, err := testutil.GatherAndCount(registry, "gormflake_ids_issued_total")
	fmt.Println(n, err)
	// Output: 2 <nil>
}
