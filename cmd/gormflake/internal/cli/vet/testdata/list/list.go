package list

import (
	"encoding/json"

	"github.com/gormflake/gormflake"
)

// decode lists models of a file, which vet cannot find, and then an empty list.
func decode(b []byte) ([]gormflake.Option, error) {
	var models []any
	err := json.Unmarshal(b, &models)
	return []gormflake.Option{gormflake.WithModels(models...), gormflake.WithModels()}, err
}
