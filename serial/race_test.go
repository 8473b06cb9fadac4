//go:build race

package serial_test

const raceEnabled = true
