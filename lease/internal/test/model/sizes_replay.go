//go:build replay

package model

// What a state has room for: large, as a Replay keeps one.
const (
	maxProcesses = 64
	maxWorkers   = 16
	maxTicks     = 1 << 15
	maxLate      = 64
	maxVolatile  = 256
)

type num = int32
