package sqlite

import (
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

func tokens(text string) []sqltext.Token {
	return sqltext.Scan(text, sqltext.Rules{Brackets: true, Backticks: true})
}

// isWord reports whether a token is the keyword.
func isWord(t sqltext.Token, keyword string) bool {
	return t.Kind == sqltext.Word && fold(t.Text) == keyword
}

// withoutAutoincrement takes the keyword out of the text of a table. It is
// one wherever it stands without quotes: SQLite allows no name like it.
func withoutAutoincrement(text string) (string, bool) {
	for _, token := range tokens(text) {
		if isWord(token, "autoincrement") {
			return strings.TrimRight(text[:token.Start], " \t") + text[token.End:], true
		}
	}
	return text, false
}
