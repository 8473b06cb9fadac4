package plugintest

import (
	"errors"
	"sync"
	"testing"

	"github.com/gormflake/gormflake/types"
)

func TestConcurrentFirstUse(t *testing.T) {
	t.Parallel()
	db := Dry(t, NewPlugin(t))
	keys := make([]types.ID, 32)
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			row := kinds{}
			tree := catalog{Entries: []entry{{}, {}}}
			errs[i] = errors.Join(db.Create(&row).Error, db.Create(&tree).Error)
			keys[i] = row.ID
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	distinct(t, keys)
}
