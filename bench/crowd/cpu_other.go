//go:build !unix

package main

func serverCPU(string) float64 { return 0 }
