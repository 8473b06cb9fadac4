//go:build replay

package model

// Limits of a state for a Replay. They are large, because a Replay keeps only one
// state.
const (
	maxProcesses = 64
	maxWorkers   = 16
	maxTicks     = 1 << 15
	maxLate      = 64
	maxVolatile  = 256
)

// num is the type of all numbers of a state. It is large enough for maxTicks.
type num = int32
