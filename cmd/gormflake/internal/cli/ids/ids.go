// Package ids has the commands about IDs themselves: gen issues some, parse takes
// them apart, and min and max are the ones at the ends of a time.
package ids

import (
	"time"

	"github.com/spf13/cobra"
)

// New returns gen, parse, min and max. Now is the clock that times are relative
// to.
func New(now func() time.Time) []*cobra.Command {
	return []*cobra.Command{newGen(now), newParse(now), newMin(now), newMax(now)}
}
