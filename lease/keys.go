package lease

import "github.com/gormflake/gormflake/snowflake"

func workers(l snowflake.Layout) int64     { return 1 << l.WorkerBits }
func datacenters(l snowflake.Layout) int64 { return 1 << l.DatacenterBits }

func keyOf(l snowflake.Layout, datacenter, worker int64) int {
	return int(datacenter<<l.WorkerBits | worker)
}

// numbers is the inverse of keyOf.
func numbers(l snowflake.Layout, key int) (datacenter, worker int64) {
	return int64(key) >> l.WorkerBits, int64(key) & (workers(l) - 1)
}
