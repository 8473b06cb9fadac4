package sqlite

import "strings"

// A token is a word, a quoted name or text, or one other character of an
// SQL text. Comments and blanks are left out.
type token struct {
	start, end int
	word       bool   // a keyword, or a name without quotes
	name       string // without quotes, folded
}

func tokenize(text string) []token {
	var tokens []token
	for i := 0; i < len(text); {
		switch end := skip(text, i); {
		case end > i:
			i = end
		default:
			token := tokenAt(text, i)
			tokens = append(tokens, token)
			i = token.end
		}
	}
	return tokens
}

// skip is the end of the blank or comment at i, or i.
func skip(text string, i int) int {
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

func tokenAt(text string, i int) token {
	switch text[i] {
	case '\'', '"', '`':
		end := quoteEnd(text, i)
		quote := text[i : i+1]
		return token{i, end, false, fold(strings.ReplaceAll(strings.Trim(text[i:end], quote), quote+quote, quote))}
	case '[':
		end := i + endOf(text[i:], "]", 1)
		return token{i, end, false, fold(strings.Trim(text[i:end], "[]"))}
	}
	end := i
	for end < len(text) && wordByte(text[end]) {
		end++
	}
	if end == i {
		return token{i, i + 1, false, ""}
	}
	return token{i, end, true, fold(text[i:end])}
}

// quoteEnd skips doubled quotes: they look like two quoted parts.
func quoteEnd(text string, i int) int {
	for quote := text[i]; ; {
		i += endOf(text[i:], string(quote), 1)
		if i >= len(text) || text[i] != quote {
			return i
		}
	}
}

func wordByte(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// withoutAutoincrement takes the keyword out of the text of a table. It is
// one wherever it stands without quotes: SQLite allows no name like it.
func withoutAutoincrement(text string) (string, bool) {
	for _, token := range tokenize(text) {
		if token.word && token.name == "autoincrement" {
			return strings.TrimRight(text[:token.start], " \t") + text[token.end:], true
		}
	}
	return text, false
}

// insertsInto reports whether a trigger's text has INSERT INTO or REPLACE INTO
// with this table.
func insertsInto(text, table string) bool {
	tokens := tokenize(text)
	for i := range len(tokens) - 1 {
		if tokens[i].word && tokens[i].name == "into" && tokens[i+1].name == fold(table) {
			return true
		}
	}
	return false
}
