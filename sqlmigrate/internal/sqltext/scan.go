// Package sqltext splits SQL into tokens. In the body of a trigger or routine, it finds the
// statements that insert or update rows, or set columns of NEW. The database packages and
// package likely use it.
package sqltext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rules are the differences in the syntax of the databases. The comment of a field is a
// rule, which applies if the field is true. The zero value is the SQL standard.
type Rules struct {
	Backslash bool // a backslash escapes the next character in '…' and "…"
	Hash      bool // # begins a comment, and -- only if a blank follows
	Brackets  bool // […] is a quoted name
	Backticks bool // `…` is a quoted name
	Nested    bool // a comment /* … */ may contain such comments
}

// A Kind is the kind of a [Token].
type Kind int

// The kinds of tokens. The first two can be the name of a table or column, so the parser
// tests Kind <= Name for a name.
const (
	Word Kind = iota // a keyword, a number, or a name without quotes
	Name             // a name between "…", `…` or […]
	Text             // a string between '…'
	Sign             // any other character, or one of ::, :=, <>, <=, >=, != and <=>
)

// A Token is the part text[Start:End] of a text. Text is its content without quotation
// marks, and with one mark for each doubled mark, so that the Text of "a""b" is a"b.
type Token struct {
	Start, End int
	Kind       Kind
	Text       string
}

// Scan returns the tokens of an SQL text, without comments and blanks. For example,
// a."b" <> 1 has the tokens a, ., b, <> and 1. A quote or comment without an end continues
// to the end of the text.
func Scan(text string, rules Rules) []Token {
	var tokens []Token
	for i := 0; i < len(text); {
		if end := rules.skip(text, i); end > i {
			i = end
			continue
		}
		token := rules.token(text, i)
		tokens = append(tokens, token)
		i = token.End
	}
	return tokens
}

// skip returns the index after the blank or comment at i, or i if there is neither. With
// the rule Hash, -- begins a comment only before a blank or at the end of the text, because
// MySQL reads the -- in 5--1 as two minus signs.
func (r Rules) skip(text string, i int) int {
	rest := text[i:]
	switch {
	case strings.IndexByte(" \t\n\v\f\r", text[i]) >= 0:
		return i + 1
	case strings.HasPrefix(rest, "--") && (!r.Hash || len(rest) == 2 || rest[2] <= ' '), r.Hash && text[i] == '#':
		return i + endOf(rest, "\n", 0)
	case strings.HasPrefix(rest, "/*"):
		return i + r.commentEnd(rest)
	}
	return i
}

// commentEnd returns the index after the comment /* … */ at the start of s. With the rule
// Nested, the comments within it must end before it does.
func (r Rules) commentEnd(s string) int {
	depth := 1 // number of comments that are open
	for at := 2; at < len(s); {
		switch {
		case strings.HasPrefix(s[at:], "*/"):
			at += 2
			if depth--; depth == 0 {
				return at
			}
		case r.Nested && strings.HasPrefix(s[at:], "/*"):
			at += 2
			depth++
		default:
			at++
		}
	}
	return len(s)
}

// endOf returns the index after the first occurrence of end in s from start on, or the
// length of s.
func endOf(s, end string, start int) int {
	if i := strings.Index(s[start:], end); i >= 0 {
		return start + i + len(end)
	}
	return len(s)
}

// token returns the token that begins at i, which is not a blank or a comment.
func (r Rules) token(text string, i int) Token {
	switch c := text[i]; {
	case c == '\'':
		return r.quoted(text, i, Text)
	case c == '"', c == '`' && r.Backticks:
		return r.quoted(text, i, Name)
	case c == '[' && r.Brackets:
		end := i + endOf(text[i:], "]", 1)
		return Token{i, end, Name, strings.TrimSuffix(text[i+1:end], "]")}
	}
	if end := wordEnd(text, i); end > i {
		return Token{i, end, Word, text[i:end]}
	}
	end := i + 1
	for _, sign := range []string{"<=>", "::", ":=", "<>", "<=", ">=", "!="} {
		if strings.HasPrefix(text[i:], sign) {
			end = i + len(sign)
			break
		}
	}
	return Token{i, end, Sign, text[i:end]}
}

// quoted returns the string or quoted name that begins with a quotation mark at i. The mark
// ends it, unless the mark is doubled or, with the rule Backslash, escaped.
func (r Rules) quoted(text string, i int, kind Kind) Token {
	var inner strings.Builder
	quote, at := text[i], i+1
	for at < len(text) {
		switch c := text[at]; {
		case c == '\\' && r.Backslash && quote != '`' && at+1 < len(text): // an escaped character
			at++
		case c == quote && at+1 < len(text) && text[at+1] == quote: // a doubled quote
			at++
		case c == quote:
			return Token{i, at + 1, kind, inner.String()}
		}
		inner.WriteByte(text[at])
		at++
	}
	return Token{i, at, kind, inner.String()}
}

// wordEnd returns the index after the keyword, number or unquoted name that begins at i, or
// i if there is none. All characters outside of ASCII are part of a name.
func wordEnd(text string, i int) int {
	end := strings.IndexFunc(text[i:], func(c rune) bool {
		return c < utf8.RuneSelf && c != '_' && c != '$' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	if end < 0 {
		return len(text)
	}
	return i + end
}

// Sets reports whether the body of a trigger sets one of the columns of NEW, which is the
// row that is about to be written, or the whole row. It recognizes the forms
//
//	SET NEW.id = 1
//	NEW.id := 1
//	NEW.id = 1            at the beginning of a statement
//	SELECT 1 INTO NEW.id
//
// In any other place, NEW.id is only read.
func Sets(body string, rules Rules, columns []string) bool {
	tokens := slices.DeleteFunc(Scan(body, rules), func(t Token) bool { return t.Kind == Text })
	// is reports whether token i is one of words. For i = -1, the place before the body, it
	// returns true, because an assignment can stand at the beginning of the body.
	is := func(i int, words ...string) bool {
		return i < len(tokens) && (i < 0 || slices.Contains(words, strings.ToLower(tokens[i].Text)))
	}
	// into reports whether token i is in the list of targets of an INTO, such as STRICT n, NEW.id.
	// The list ends before a token that neither separates two parts of it nor follows INTO, STRICT
	// or a separator.
	into := false
	for i := range tokens {
		into = is(i, "into") || into && (is(i, ".", ",") || is(i-1, "into", "strict", ".", ",", "@"))
		if !is(i, "new") {
			continue
		}
		end := i + 1 // the token after NEW or NEW.column
		if is(end, ".") {
			if end+1 == len(tokens) || !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, tokens[end+1].Text) }) {
				continue
			}
			end += 2
		}
		// After these words and signs a statement or assignment can begin; > can end a label,
		// such as <<l>>.
		if into || is(end, ":=") || is(end, "=") && is(i-1, "set", ",", ";", "begin", "then", "else", "loop", ">") {
			return true
		}
	}
	return false
}
