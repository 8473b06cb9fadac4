package main

// The commands that the process which measures sends to the process that holds the leases.
const (
	start   = "start"   // acquire all leases, at once
	hold    = "hold"    // hold them
	release = "release" // release all, at once
)

// figures are the answer to a command. They describe the time that the command took.
type figures struct {
	Seconds                          float64
	Writes, Refused, Failed          int     // all writes of records; writes that found another record than they expected; writes with an error
	PerSecond                        float64 // successful writes in a second, on average
	Peak                             int     // most successful writes in a second
	P50, P99, Max                    float64 // the time of a write in ms: median, 99th percentile, maximum
	TotalP50, TotalP99, TotalMax     float64 // the time from the request for a connection until it is returned, in ms
	Attempts, Distinct               int     // failed attempts to acquire or release; different workers
	ServerCPU, ClientCPU             float64 // CPU time of the database server and of the child, in seconds
	FailedExtensions, LostExtensions uint64  // of the leases since they were acquired
}
