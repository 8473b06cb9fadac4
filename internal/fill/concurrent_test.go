package fill_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestConcurrentFirstUse checks that goroutines may be the first to create rows of a model
// concurrently, while the plugin parses its tags.
func TestConcurrentFirstUse(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, plugintest.NewPlugin(t))
	keys := make([]types.ID, 32)
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			row := plugintest.Kinds{}
			tree := plugintest.Catalog{Entries: []plugintest.Entry{{}, {}}}
			errs[i] = errors.Join(db.Create(&row).Error, db.Create(&tree).Error)
			keys[i] = row.ID
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	plugintest.Distinct(t, keys)
}
