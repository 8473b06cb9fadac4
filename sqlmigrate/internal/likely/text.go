package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// fillers are words that wordsOfSQL leaves out. keywords cannot be the alias of a table.
var (
	fillers  = wordSet("select distinct any all some")
	keywords = wordSet("on where join left right inner outer full cross natural using set group order having limit union and or values returning straight_join for when then do from")
)

// joins returns the pairs of columns that a definition compares, with their names in
// lower case. It does not parse the SQL completely. A wrong pair has little effect,
// because a pair only counts if one column is a key.
func joins(text string, known map[string][]plan.TableName) [][2]Key {
	edge := make([]string, 6) // so that every word has six words before and after it
	words := slices.Concat(edge, wordsOfSQL(text), edge)
	names := aliases(words, known)
	var pairs [][2]Key
	for i, word := range words {
		if word != "=" && !strings.EqualFold(word, "in") {
			continue
		}
		after := words[i+1:]
		if after[1] == "." && after[3] == "." { // the name has the form schema.table.column
			after = after[2:]
		}
		// The three words before the sign are table.column, also of a longer name.
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

// signs are the signs that joins needs.
var signs = wordSet(":: = . , ; < > ! <> <= >= !=")

// wordsOfSQL returns the words and signs of a text. It leaves out strings, parentheses,
// casts and the beginning of a subquery, so that a.b = ANY (SELECT c.d::bigint becomes
// a.b = c.d.
func wordsOfSQL(text string) []string {
	var words []string
	cast := false
	for _, token := range sqltext.Scan(text, sqltext.Rules{Backticks: true}) {
		word := token.Text
		if word == ":=" { // an assignment relates two columns like a comparison
			word = "="
		}
		switch {
		case token.Kind == sqltext.Text, token.Kind == sqltext.Sign && !signs[word]:
		case cast: // skips the type after ::
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

// An aliasIndex maps a name or alias to the tables for which it may stand.
type aliasIndex map[string][]plan.TableName

// aliases returns the tables in words by their names and aliases. known has all tables by
// their names in lower case. words begins and ends with empty words, so that it can look
// at the words around each.
func aliases(words []string, known map[string][]plan.TableName) aliasIndex {
	found := aliasIndex{}
	for i, word := range words {
		tables := known[strings.ToLower(word)]
		if len(tables) == 0 || words[i+1] == "." { // no table, or the qualifier of a column
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

// add adds the tables to the entry of a name or alias.
func (a aliasIndex) add(name string, tables []plan.TableName) {
	name = strings.ToLower(name)
	for _, t := range tables {
		a[name] = engine.AppendNew(a[name], t)
	}
}

// isName reports whether a word can be a name, and is neither a sign nor a number.
func isName(word string) bool {
	return word != "" && !strings.ContainsAny(word[:1], ".,;=<>![:0123456789")
}

// columns returns the columns for the words at the beginning of words, which have the
// form table.column.
func (a aliasIndex) columns(words []string) []Key {
	if words[1] != "." {
		return nil
	}
	var found []Key
	for _, t := range a[strings.ToLower(words[0])] {
		found = append(found, columnOf(t, words[2]))
	}
	return found
}

// mentions reports whether a comment names the key, or names its table together with a
// word for a key.
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

// aboutKeys are the words with which a comment speaks of keys.
var aboutKeys = wordSet("id ids key keys fk foreign ref refs reference references referring refers refer points identifier identifies belongs")
