//go:build purego

package main

// nextTarget is what Next has to reach without the processor's counter, of which
// most is one reading of the clock.
const nextTarget = 0.90
