package model

// Selection maps a column to true if the statement names it and to false if the
// statement omits it. It is nil if the statement has neither Select nor Omit.
type Selection map[string]bool

// Omits reports whether the statement omits the column.
func (s Selection) Omits(c *Column) bool {
	named, ok := s[c.Field.DBName]
	return ok && !named
}
