package model

import (
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Parking is where a counter such as AUTO_INCREMENT is out of the way of a generator.
// MySQL, MariaDB and SQLite move one to each larger key: to the generator's next ID.
type Parking struct {
	Limit types.ID  // the next value of a parked counter is larger
	Place types.ID  // where to park a counter, with room above it
	Until time.Time // when the generator gets to Place
}

// NewParking returns the places for IDs of the layout.
func NewParking(l snowflake.Layout) Parking {
	const years = 10 // for which a parked counter must be above all IDs
	end, expires := time.Now().AddDate(years, 0, 0), l.Expires()
	if expires.Before(end) {
		end = expires
	}
	until := end.Add(expires.Sub(end) / 8 * 7)
	return Parking{Limit: l.Max(end), Place: l.Max(until), Until: until}
}

// Parking returns where a counter is out of the way of the column's generator, nil if
// its layout is unknown.
func (c *Column) Parking() *Parking {
	l, ok := c.source.(layouter)
	if !ok {
		return nil
	}
	p := NewParking(l.Layout())
	return &p
}
