//go:build !replay

package model

// Limits of a state for Check. They are small, because Check keeps every state.
const (
	maxProcesses = 3
	maxWorkers   = 2
	maxTicks     = 8
	maxLate      = 2
	maxVolatile  = 3 // the length of the log
)

type num = int8
