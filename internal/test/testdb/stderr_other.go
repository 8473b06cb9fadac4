//go:build !linux

package testdb

import "os"

// duplicateStderr returns nil, because only Linux can duplicate the file of another
// process.
func duplicateStderr(int) *os.File { return nil }
