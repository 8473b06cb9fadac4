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

// num is the type of all numbers of a state. It is small, because Check keeps every state.
type num = int8
