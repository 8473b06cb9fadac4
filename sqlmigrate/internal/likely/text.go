package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// A column of a table, with both names in small letters.
type column struct {
	table engine.TableName
	name  string
}

func columnOf(table engine.TableName, name string) column {
	return column{engine.TableName{Schema: strings.ToLower(table.Schema), Name: strings.ToLower(table.Name)}, strings.ToLower(name)}
}

var (
	fillers  = set("select distinct any all some")
	keywords = set("on where join left right inner outer full cross natural using set group order having limit union and or values returning straight_join for when then do from")
)

// joins are the pairs of columns that a definition compares, each with the names in
// small letters. It is not read as the server reads it: a pair too many changes
// little, because it only counts if one of the two is a key.
func joins(text string, known map[string][]engine.TableName) [][2]column {
	words := wordsOfSQL(text)
	names := aliases(words, known)
	var pairs [][2]column
	for i, word := range words {
		if word != "=" && !strings.EqualFold(word, "in") {
			continue
		}
		for _, left := range names.before(words[:i]) {
			for _, right := range names.after(words[i+1:]) {
				if left != right {
					pairs = append(pairs, [2]column{left, right})
				}
			}
		}
	}
	return pairs
}

// signs are those that mean something here.
var signs = set(":: = . , ; < > ! <> <= >= !=")

// wordsOfSQL leaves out texts, parentheses, casts and what a subquery begins with, so
// that a.b = ANY (SELECT c.d::bigint reads as a.b = c.d.
func wordsOfSQL(text string) []string {
	var words []string
	cast := false
	for _, token := range sqltext.Scan(text, sqltext.Rules{Backticks: true}) {
		word := token.Text
		if word == ":=" {
			word = "="
		}
		switch {
		case token.Kind == sqltext.Text, token.Kind == sqltext.Sign && !signs[word]:
		case cast: // the type
			cast = false
		case token.Kind == sqltext.Name:
			words = append(words, word)
		case word == "::":
			cast = true
		case !fillers[strings.ToLower(word)]:
			words = append(words, word)
		}
	}
	return words
}

// aliased are the tables for which a name stands.
type aliased map[string][]engine.TableName

// aliases finds tables, and the names that are given to them.
func aliases(words []string, known map[string][]engine.TableName) aliased {
	found := aliased{}
	for i, word := range words {
		tables := known[strings.ToLower(word)]
		if len(tables) == 0 || i+1 < len(words) && words[i+1] == "." {
			continue
		}
		if i > 1 && words[i-1] == "." {
			if in := slices.DeleteFunc(slices.Clone(tables), func(t engine.TableName) bool { return !strings.EqualFold(t.Schema, words[i-2]) }); len(in) > 0 {
				tables = in
			}
		}
		found.add(word, tables)
		next := i + 1
		if next < len(words) && strings.EqualFold(words[next], "as") {
			next++
		}
		if next < len(words) && isName(words[next]) && !keywords[strings.ToLower(words[next])] {
			found.add(words[next], tables)
		}
	}
	return found
}

func (a aliased) add(name string, tables []engine.TableName) {
	name = strings.ToLower(name)
	for _, t := range tables {
		if !slices.Contains(a[name], t) {
			a[name] = append(a[name], t)
		}
	}
}

func isName(word string) bool {
	return word != "" && !strings.ContainsAny(word[:1], ".,;=<>![:0123456789")
}

// before is the column with which words end.
func (a aliased) before(words []string) []column {
	if n := len(words); n > 2 && words[n-2] == "." {
		return a.columns(words[n-3], words[n-1])
	}
	return nil
}

// after is the column with which words begin: table.column or schema.table.column.
func (a aliased) after(words []string) []column {
	if len(words) > 4 && words[1] == "." && words[3] == "." {
		return a.columns(words[2], words[4])
	}
	if len(words) > 2 && words[1] == "." {
		return a.columns(words[0], words[2])
	}
	return nil
}

func (a aliased) columns(alias, name string) []column {
	var found []column
	for _, t := range a[strings.ToLower(alias)] {
		found = append(found, columnOf(t, name))
	}
	return found
}

// mentions reports whether a comment speaks of a key of the table.
func mentions(comment string, key Key) bool {
	text := strings.ToLower(comment)
	if strings.Contains(text, strings.ToLower(key.Table.Name+"."+key.Column)) {
		return true
	}
	words := wordsOf(comment)
	if !slices.ContainsFunc(words, func(word string) bool { return aboutKeys[word] }) {
		return false
	}
	table := wordsOf(key.Table.Name)
	for i := range words {
		if i+len(table) <= len(words) && plural(words[i:i+len(table)]) == plural(table) {
			return true
		}
	}
	return false
}

var aboutKeys = set("id ids key keys fk foreign ref refs reference references referring refers refer points identifier identifies belongs")
