//go:build !race

package gormflake_test

const raceEnabled = false
