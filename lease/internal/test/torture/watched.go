package torture

import (
	"context"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// watchedSource remembers the grants that it returns to a generator.
type watchedSource struct {
	snowflake.WorkerSource

	mu      sync.Mutex
	pending []entry
}

func (w *watchedSource) Grant(ctx context.Context, layout snowflake.Layout) (*snowflake.Grant, error) {
	g, err := w.WorkerSource.Grant(ctx, layout)
	if err == nil {
		w.note(g, 0)
	}
	return g, err
}

// Extend remembers a grant that replaces another. IDs that the same call took under the
// other grant are below the end of its window.
func (w *watchedSource) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	g, err := w.WorkerSource.Extend(ctx, held, need)
	if err == nil && g != held {
		w.note(g, held.Until().UnixMilli())
	}
	return g, err
}

func (w *watchedSource) note(g *snowflake.Grant, boundary int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := g.Datacenter()<<layout.WorkerBits | g.Worker()
	w.pending = append(w.pending, grantMarker(key, boundary))
}

// markers returns the markers of the grants since the last call.
func (w *watchedSource) markers() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := w.pending
	w.pending = nil
	return pending
}
