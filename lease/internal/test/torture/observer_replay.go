//go:build replay

package torture

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
)

// An observer writes a trace to a file.
type observer struct{ *trace.Recorder }

// observe returns a store that records its calls in the file.
func observe(store lease.Store, path string) (lease.Store, observer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, observer{}, err
	}
	r := trace.New(store, file)
	return r.Store, observer{r}, nil
}

// replay replays the trace of a process. A process that was killed early may have no
// trace.
func replay(path string) (steps int, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return trace.Replay(file)
}
