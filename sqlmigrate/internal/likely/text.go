package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// columnOf is any column, with its names in small letters.
func columnOf(table plan.TableName, name string) Key {
	return Key{plan.TableName{Schema: strings.ToLower(table.Schema), Name: strings.ToLower(table.Name)}, strings.ToLower(name)}
}

var (
	fillers  = set("select distinct any all some")
	keywords = set("on where join left right inner outer full cross natural using set group order having limit union and or values returning straight_join for when then do from")
)

// joins are the pairs of columns that a definition compares, each with the names in
// small letters. It is not read as the server reads it: a pair too many changes
// little, because it only counts if one of the two is a key.
func joins(text string, known map[string][]plan.TableName) [][2]Key {
	edge := make([]string, 6) // so that each word has others around it
	words := slices.Concat(edge, wordsOfSQL(text), edge)
	names := aliases(words, known)
	var pairs [][2]Key
	for i, word := range words {
		if word != "=" && !strings.EqualFold(word, "in") {
			continue
		}
		after := words[i+1:]
		if after[1] == "." && after[3] == "." { // schema.table.column
			after = after[2:]
		}
		for _, left := range names.columns(words[i-3:]) {
			for _, right := range names.columns(after) {
				if left != right {
					pairs = append(pairs, [2]Key{left, right})
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
type aliased map[string][]plan.TableName

// aliases finds tables, and the names that are given to them.
func aliases(words []string, known map[string][]plan.TableName) aliased {
	found := aliased{}
	for i, word := range words {
		tables := known[strings.ToLower(word)]
		if len(tables) == 0 || words[i+1] == "." {
			continue
		}
		if words[i-1] == "." {
			if in := slices.DeleteFunc(slices.Clone(tables), func(t plan.TableName) bool { return !strings.EqualFold(t.Schema, words[i-2]) }); len(in) > 0 {
				tables = in
			}
		}
		found.add(word, tables)
		next := i + 1
		if strings.EqualFold(words[next], "as") {
			next++
		}
		if isName(words[next]) && !keywords[strings.ToLower(words[next])] {
			found.add(words[next], tables)
		}
	}
	return found
}

func (a aliased) add(name string, tables []plan.TableName) {
	name = strings.ToLower(name)
	for _, t := range tables {
		a[name] = engine.AppendNew(a[name], t)
	}
}

func isName(word string) bool {
	return word != "" && !strings.ContainsAny(word[:1], ".,;=<>![:0123456789")
}

// columns are those that words begin with: table.column.
func (a aliased) columns(words []string) []Key {
	if words[1] != "." {
		return nil
	}
	var found []Key
	for _, t := range a[strings.ToLower(words[0])] {
		found = append(found, columnOf(t, words[2]))
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
