package lease

import "github.com/gormflake/gormflake/snowflake"

// workers returns the number of workers in each datacenter of the layout.
func workers(l snowflake.Layout) int64 { return 1 << l.WorkerBits }

// datacenters returns the number of datacenters of the layout.
func datacenters(l snowflake.Layout) int64 { return 1 << l.DatacenterBits }

// keyOf returns the key of a worker's record in the store. In a layout with 5 bits for the
// worker, for example, the key of datacenter 1 worker 2 is 1<<5 | 2, which is 34.
func keyOf(l snowflake.Layout, datacenter, worker int64) int {
	return int(datacenter<<l.WorkerBits | worker)
}

// splitKey returns the datacenter and the worker of a key that keyOf has returned.
func splitKey(l snowflake.Layout, key int) (datacenter, worker int64) {
	return int64(key) >> l.WorkerBits, int64(key) & (workers(l) - 1)
}
