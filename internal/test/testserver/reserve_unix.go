//go:build linux || darwin || freebsd || netbsd || openbsd

package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// reserved has the locked files by their ports. It keeps them from the garbage collector, which
// would close and thereby unlock them.
var reserved sync.Map

// reserve locks the file of a port until this process ends, and reports whether no other test
// process has locked it. A port is free between the call of FreePort and the start of its
// server, and while a test has killed the server. Without the lock, a test of another package
// could start its own server on the port in that time.
func reserve(port int) (bool, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("gormflake-ports-%d", os.Getuid())) // another user may not write to it
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, fmt.Errorf("testserver: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("testserver: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, file.Close()
	}
	reserved.Store(port, file) // closed, and so unlocked, at the end of the process
	return true, nil
}
