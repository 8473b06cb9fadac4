// Package load measures a running service of IDs, as another process: how many
// requests it answers, and how long single ones take while they arrive at a
// fixed rate.
package load
