//go:build !linux

package testcluster

import "net"

// canPart reports whether the mesh can identify servers by their connections.
const canPart = false

func socketOf(net.Conn) string { return "" }

func hasSocket(int, string) bool { return false }
