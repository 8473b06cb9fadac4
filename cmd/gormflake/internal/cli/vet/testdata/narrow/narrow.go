package narrow

import "github.com/gormflake/gormflake/types"

type Order struct{}

func convert(id types.ID, other types.Of[Order], n int64) []any {
	return []any{
		float64(id),           // want `float64 keeps 53 bits of an ID, which are enough for JSSafeLayout alone: keep the ID, or use its String`
		int32(other),          // want `int32 has too few digits for an ID`
		float64(id.Int64()),   // want `float64 keeps 53 bits of an ID`
		uint32(uint64(other)), // want `uint32 has too few digits for an ID`
		int32(int64(id)),      // want `int32 has too few digits for an ID`
		float64(n), float64(int64(n)), int64(int64(id)), int64(id), uint64(id), types.ID(other), id.String(),
	}
}
