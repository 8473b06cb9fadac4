//go:build more

package tagged

import "github.com/gormflake/gormflake/types"

func convert(id types.ID) float64 { return float64(id) }
