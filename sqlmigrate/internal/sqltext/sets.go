package sqltext

import (
	"slices"
	"strings"
)

// Sets reports whether the body of a trigger sets one of the columns of NEW, or all of
// NEW: by SET or :=, at the beginning of a statement by =, or as a target of INTO.
func Sets(body string, rules Rules, columns []string) bool {
	tokens := slices.DeleteFunc(Scan(body, rules), func(t Token) bool { return t.Kind == Text })
	is := func(i int, words ...string) bool {
		return i < len(tokens) && (i < 0 || slices.Contains(words, strings.ToLower(tokens[i].Text)))
	}
	into := false
	for i := range tokens {
		into = is(i, "into") || into && !is(i, "from", ";", "values", "select", "(")
		if !is(i, "new") {
			continue
		}
		end := i + 1
		if is(end, ".") {
			if end+1 == len(tokens) || !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, tokens[end+1].Text) }) {
				continue
			}
			end += 2
		}
		if into || is(end, ":=") || is(end, "=") && is(i-1, "set", ",", ";", "begin", "then", "else", "loop", ">") {
			return true
		}
	}
	return false
}
