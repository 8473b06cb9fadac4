package sqlmigrate

import "strings"

// A sqliteToken is a word, a quoted name or text, or one other character of an
// SQL text. Comments and blanks are none.
type sqliteToken struct {
	start, end int
	word       bool   // a keyword, or a name without quotes
	name       string // without quotes, folded
}

func sqliteTokens(text string) []sqliteToken {
	var tokens []sqliteToken
	for i := 0; i < len(text); {
		switch end := sqliteSkip(text, i); {
		case end > i:
			i = end
		default:
			token := sqliteTokenAt(text, i)
			tokens = append(tokens, token)
			i = token.end
		}
	}
	return tokens
}

// sqliteSkip is the end of the blank or comment at i, or i.
func sqliteSkip(text string, i int) int {
	rest := text[i:]
	switch {
	case strings.ContainsRune(" \t\n\f\r", rune(text[i])):
		return i + 1
	case strings.HasPrefix(rest, "--"):
		return i + endOf(rest, "\n", 2)
	case strings.HasPrefix(rest, "/*"):
		return i + endOf(rest, "*/", 2)
	}
	return i
}

// endOf is the index after the first end in s from start, or the length of s.
func endOf(s, end string, start int) int {
	if i := strings.Index(s[start:], end); i >= 0 {
		return start + i + len(end)
	}
	return len(s)
}

func sqliteTokenAt(text string, i int) sqliteToken {
	switch text[i] {
	case '\'', '"', '`':
		end := sqliteQuoteEnd(text, i)
		quote := text[i : i+1]
		return sqliteToken{i, end, false, sqliteFold(strings.ReplaceAll(strings.Trim(text[i:end], quote), quote+quote, quote))}
	case '[':
		end := i + endOf(text[i:], "]", 1)
		return sqliteToken{i, end, false, sqliteFold(strings.Trim(text[i:end], "[]"))}
	}
	end := i
	for end < len(text) && sqliteWordByte(text[end]) {
		end++
	}
	if end == i {
		return sqliteToken{i, i + 1, false, ""}
	}
	return sqliteToken{i, end, true, sqliteFold(text[i:end])}
}

// sqliteQuoteEnd skips doubled quotes: they look like two quoted parts.
func sqliteQuoteEnd(text string, i int) int {
	for quote := text[i]; ; {
		i += endOf(text[i:], string(quote), 1)
		if i >= len(text) || text[i] != quote {
			return i
		}
	}
}

func sqliteWordByte(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// sqliteWithoutAutoincrement takes the keyword out of the text of a table. It is
// one wherever it stands without quotes: SQLite allows no name like it.
func sqliteWithoutAutoincrement(text string) (string, bool) {
	for _, token := range sqliteTokens(text) {
		if token.word && token.name == "autoincrement" {
			return strings.TrimRight(text[:token.start], " \t") + text[token.end:], true
		}
	}
	return text, false
}

// sqliteInserts reports whether a trigger's text has INSERT INTO or REPLACE INTO
// with this table.
func sqliteInserts(text, table string) bool {
	tokens := sqliteTokens(text)
	for i := range len(tokens) - 1 {
		if tokens[i].word && tokens[i].name == "into" && tokens[i+1].name == sqliteFold(table) {
			return true
		}
	}
	return false
}
