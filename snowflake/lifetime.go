package snowflake

import (
	"fmt"
	"log/slog"
	"time"
)

// expiryNotice is how long before the layout's end the warnings begin.
const expiryNotice = 5 * 365 * 24 * time.Hour

func (g *Generator) checkLifetime() error {
	now, _ := g.clock.Read()
	if now.Before(g.layout.Epoch) {
		return fmt.Errorf("snowflake: layout's epoch %v is after the clock's %v", g.layout.Epoch, now)
	}
	if !now.Before(g.layout.Expires()) {
		return g.expired()
	}
	return nil
}

// started is when this process began.
var started = time.Now()

// tickAfterStart is the first tick that a previous process under the same fixed
// worker cannot have used, or zero if the tick in which this process was started
// is over.
func (l Layout) tickAfterStart() int64 {
	if tick := l.tickOf(started); tick == l.tickOf(time.Now()) {
		return tick + 1
	}
	return 0
}

func (g *Generator) expired() error {
	return fmt.Errorf("%w at %v (%v): move to a layout with more time bits, a longer tick or a later epoch", ErrExpired, g.layout.Expires(), g.layout)
}

// warnBeforeExpiry warns once when the layout's end is near.
func (g *Generator) warnBeforeExpiry(tick uint64) {
	if tick < g.warnAt || g.warned.Swap(true) {
		return
	}
	slog.Warn("snowflake: the layout expires", "at", g.layout.Expires(), "layout", g.layout.String())
}
