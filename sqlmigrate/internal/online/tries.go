package online

import (
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

const fullWait = 4 // the first try that waits as long as the option allows

// settingsOf a try, after so many that have failed. The first ones wait for their locks
// for a part of the time only: where transactions are short, that is enough, and
// everybody behind waits less.
func settingsOf(s engine.Settings, failed int) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(failed+1, fullWait))/fullWait)
	return s
}

// pause lets those through who have waited behind. Its jitter keeps the next try from
// meeting a job that comes again and again.
func pause() time.Duration { return 300*time.Millisecond + rand.N(300*time.Millisecond) }
