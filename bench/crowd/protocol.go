package main

// The commands that the process which measures sends to the process that holds the leases.
const (
	start   = "start"   // acquire all leases, at once
	hold    = "hold"    // hold them
	release = "release" // release all, at once
)

// figures are the answer to a command.
type figures struct {
	Seconds                          float64
	Writes, Refused, Failed          int     // statements
	PerSecond                        float64 // successful writes in a second, on average
	Peak                             int     // most successful writes in a second
	P50, P99, Max                    float64 // of a write, ms
	TotalP50, TotalP99, TotalMax     float64 // with the wait for a connection, ms
	Attempts, Distinct               int     // failed attempts at acquiring; workers
	ServerCPU, ClientCPU             float64 // seconds
	FailedExtensions, LostExtensions uint64  // of the leases
}
