//go:build !unix

package main

// serverCPU returns 0, because the CPU time of other processes is only read from Linux's /proc.
func serverCPU(string) float64 { return 0 }
