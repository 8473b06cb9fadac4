//go:build !replay

package model

// What a state has room for: small, as Check keeps every state.
const (
	maxProcesses = 3
	maxWorkers   = 2
	maxTicks     = 8
	maxLate      = 2
	maxVolatile  = 3 // the length of the longest log
)

type num = int8
