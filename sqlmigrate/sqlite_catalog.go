package sqlmigrate

import "regexp"

func (sqliteEngine) quote(t tableName) string { return t.quoted(`"`) }

func (sqliteEngine) foldsNames() bool { return true }

// sqliteAbsent is what the drivers write.
var sqliteAbsent = regexp.MustCompile(`no such table|unknown database`)

func (sqliteEngine) absent(err error) bool { return sqliteAbsent.MatchString(err.Error()) }

func (sqliteEngine) afterFailure(int, bool) string { return nothingChanged }

// likelyReferences finds none: every integer column holds Snowflake IDs.
func (sqliteEngine) likelyReferences() likelyQueries { return likelyQueries{} }
