package lease

import (
	"fmt"
	"os"
	"strconv"

	"github.com/gormflake/gormflake/internal/podname"
)

// datacenterVariable is the one that [snowflake.FromEnv] reads too.
const datacenterVariable = "SNOWFLAKE_DATACENTER_ID"

// WithStatefulSetWorker is [WithWorker] with the ordinal that ends the host name:
// pod web-7 of a Kubernetes StatefulSet leases worker 7, also if its host name
// has a domain. A host name without an ordinal, or with one that the layout
// cannot hold, is an error. Other host names that end in -<number>, such as
// ip-10-0-3-17, cannot be distinguished from a pod's: use it in StatefulSets only.
//
// The datacenter is the one of [WithDatacenter], or of the environment variable
// SNOWFLAKE_DATACENTER_ID, or 0 if neither is given. Two StatefulSets that share
// a store need different datacenters: their pods have the same ordinals, and wait
// for each other's workers otherwise. A variable that is set and is not a number
// of the layout is an error.
func WithStatefulSetWorker() Option {
	return optionFunc(func(c *config) error {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("lease: WithStatefulSetWorker: host name: %w", err)
		}
		return c.setStatefulSetWorker(host)
	})
}

func (c *config) setStatefulSetWorker(host string) error {
	worker, err := podname.Ordinal(host)
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %w", err)
	}
	c.one, c.first, c.last = true, worker, worker
	if err := inRange("WithStatefulSetWorker", "worker", worker, workers(c.layout)); err != nil {
		return err
	}
	return c.setDatacenterFromEnv()
}

// setDatacenterFromEnv leaves a datacenter that [WithDatacenter] has set.
func (c *config) setDatacenterFromEnv() error {
	text, set := os.LookupEnv(datacenterVariable)
	if !set || c.datacenter != nil {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %s=%q: want a number", datacenterVariable, text)
	}
	datacenter := int64(n)
	c.datacenter = &datacenter
	return inRange("WithStatefulSetWorker: "+datacenterVariable, "datacenter", datacenter, datacenters(c.layout))
}
