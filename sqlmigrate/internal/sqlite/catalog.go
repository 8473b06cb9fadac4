package sqlite

import (
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Quote implements [engine.Engine].
func (Engine) Quote(t engine.TableName) string { return t.Quoted(`"`) }

// FoldsNames implements [engine.Engine].
func (Engine) FoldsNames() bool { return true }

// absentText is what the drivers write.
var absentText = regexp.MustCompile(`no such table|unknown database`)

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return true }

// lockedText is what the drivers write when busy_timeout is over.
var lockedText = regexp.MustCompile(`database (table )?is locked`)

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool { return lockedText.MatchString(err.Error()) }

// AfterFailure implements [engine.Engine].
func (Engine) AfterFailure(int, bool) string { return engine.NothingChanged }

// LikelyReferences finds none: every integer column holds Snowflake IDs.
func (Engine) LikelyReferences() engine.LikelyQueries { return engine.LikelyQueries{} }
