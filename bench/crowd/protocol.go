package main

const (
	start   = "start"   // acquire all leases, at once
	hold    = "hold"    // hold them
	release = "release" // release all, at once
)

// figures contains the results of a watch.
type figures struct {
	Seconds                          float64
	Writes, Refused, Failed          int     // statements
	PerSecond                        float64 // successful writes
	Peak                             int     // in one second
	P50, P99, Max                    float64 // of a write, ms
	TotalP50, TotalP99, TotalMax     float64 // with the wait for a connection, ms
	Attempts, Distinct               int     // failed attempts at acquiring; workers
	ServerCPU, ClientCPU             float64 // seconds
	FailedExtensions, LostExtensions uint64
}
