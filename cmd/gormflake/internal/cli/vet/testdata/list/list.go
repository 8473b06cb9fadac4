package list

import (
	"encoding/json"

	"github.com/gormflake/gormflake"
)

// decode lists what a file contains, which nobody can know, and nothing.
func decode(b []byte) ([]gormflake.Option, error) {
	var models []any
	err := json.Unmarshal(b, &models)
	return []gormflake.Option{gormflake.WithModels(models...), gormflake.WithModels()}, err
}
