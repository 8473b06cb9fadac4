//go:build !unix

package main

// serverCPU returns 0, because only Linux has /proc.
func serverCPU(string) float64 { return 0 }
