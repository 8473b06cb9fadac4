package narrow

import "github.com/gormflake/gormflake/types"

type Order struct{}

func convert(id types.ID, other types.Of[Order], n int64) []any {
	return []any{
		float64(id),  // want `float64 has too few digits for an ID: keep the ID, or use its String`
		int32(other), // want `int32 has too few digits for an ID`
		float64(n), int64(id), uint64(id), types.ID(other), id.String(),
	}
}
