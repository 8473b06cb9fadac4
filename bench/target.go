//go:build !purego

package main

// nextTarget is what Next has to reach with the processor's counter.
const nextTarget = 0.60
