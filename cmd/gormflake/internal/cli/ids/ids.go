// Package ids has the commands for IDs. gen issues IDs, parse reads them, and min and max
// return the smallest and the largest ID of a time.
package ids

import (
	"time"

	"github.com/spf13/cobra"
)

// New returns the commands gen, parse, min and max. now is the clock for relative times.
func New(now func() time.Time) []*cobra.Command {
	return []*cobra.Command{newGen(now), newParse(now), newMin(now), newMax(now)}
}
