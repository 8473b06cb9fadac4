package torture

import (
	"context"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A watchedSource remembers the grants that it returns to a generator, so that the process
// writes them to its journal before the first ID that it issues under them.
type watchedSource struct {
	snowflake.WorkerSource

	mu      sync.Mutex
	pending []entry // markers of grants that the journal does not have yet
}

// Grant remembers the first grant of a lease, before which there is no window.
func (w *watchedSource) Grant(ctx context.Context, layout snowflake.Layout) (*snowflake.Grant, error) {
	g, err := w.WorkerSource.Grant(ctx, layout)
	if err == nil {
		w.note(g, 0)
	}
	return g, err
}

// Extend remembers a grant that replaces the held grant. The call for IDs that extends
// may have taken IDs under the held grant before. These IDs are below the end of the held
// grant's window, by which reader.attribute tells them from IDs of the new grant.
func (w *watchedSource) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	g, err := w.WorkerSource.Extend(ctx, held, need)
	if err == nil && g != held {
		w.note(g, held.Until().UnixMilli())
	}
	return g, err
}

// note remembers a grant. The boundary is the end of the window of the grant before it.
func (w *watchedSource) note(g *snowflake.Grant, boundary int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := g.Datacenter()<<layout.WorkerBits | g.Worker()
	w.pending = append(w.pending, grantMarker(key, boundary))
}

// markers returns the markers of the grants since the last call of markers.
func (w *watchedSource) markers() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := w.pending
	w.pending = nil
	return pending
}
