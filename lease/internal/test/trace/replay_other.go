//go:build !replay

package trace

import "io"

// Replay returns at once without the build tag replay, because without it the model has no
// room for a process's view.
func Replay(io.Reader) (int, error) { return 0, nil }
