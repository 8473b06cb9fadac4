package online

import (
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// tries counts how often one step was tried. The first ones wait for their locks for a part of
// the time only: where transactions are short, that is enough, and everybody
// behind waits less.
type tries struct {
	begun    time.Time
	patience time.Duration
	count    int
}

func newTries(c Config) *tries { return &tries{begun: time.Now(), patience: c.Patience} }

const fullWait = 4 // the first try that waits as long as the option allows

func (t *tries) settings(s engine.Settings) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(t.count+1, fullWait))/fullWait)
	return s
}

func (t *tries) failed() int {
	t.count++
	return t.count
}

func (t *tries) over() bool { return time.Since(t.begun) >= t.patience }

// pause lets those through who have waited behind. Its jitter keeps it from
// meeting a job that comes again and again.
func (t *tries) pause() time.Duration {
	return 300*time.Millisecond + rand.N(300*time.Millisecond)
}
