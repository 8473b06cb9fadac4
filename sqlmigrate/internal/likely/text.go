package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// fillers are words that wordsOfSQL leaves out, because they can stand between a sign and a
// column, as in a.b = ANY (…). keywords are words that can follow the name of a table, but
// are not its alias.
var (
	fillers  = wordSet("select distinct any all some")
	keywords = wordSet("on where join left right inner outer full cross natural using set group order having limit union and or values returning straight_join for when then do from")
)

// joins returns the pairs of columns that text compares by = or IN, with their names in
// lower case. text is the definition of a view or function. For example, joins returns
// o.user_id and users.id for "FROM o JOIN users u ON o.user_id = u.id". known has all
// tables by their names in lower case. joins does not parse the SQL completely. A wrong
// pair has little effect, because a pair only counts if one column is a key.
func joins(text string, known map[string][]plan.TableName) [][2]Key {
	edge := make([]string, 6) // empty words before and after the text, so that no index is out of range
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
		// The three words before the sign are table, . and column, even if a schema
		// precedes them.
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

// signs are the signs that joins needs. wordsOfSQL leaves out other signs, such as
// parentheses.
var signs = wordSet(":: = . , ; < > ! <> <= >= !=")

// wordsOfSQL returns the words and signs of a text, in a form in which two columns that are
// compared stand next to the sign. It leaves out strings, parentheses, casts and the
// beginning of a subquery. For example, a.b = ANY (SELECT c.d::bigint becomes the words of
// a.b = c.d.
func wordsOfSQL(text string) []string {
	var words []string
	cast := false // whether the next word is the type of a cast, after ::
	for _, token := range sqltext.Scan(text, sqltext.Rules{Backticks: true}) {
		word := token.Text
		if word == ":=" { // an assignment relates two columns like a comparison
			word = "="
		}
		switch {
		case token.Kind == sqltext.Text, token.Kind == sqltext.Sign && !signs[word]:
		case cast:
			cast = false
		case token.Kind == sqltext.Name: // in quotation marks, so that "any" is a name and no filler
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

// aliases returns the tables in words, the words of a definition, by their names and
// aliases in lower case. For FROM orders AS o it has the table orders under orders and o.
// known has all tables by their names in lower case. words begins and ends with empty
// words, so that no index is out of range.
func aliases(words []string, known map[string][]plan.TableName) aliasIndex {
	found := aliasIndex{}
	for i, word := range words {
		tables := known[strings.ToLower(word)]
		if len(tables) == 0 || words[i+1] == "." { // no table, or the qualifier of a column
			continue
		}
		if words[i-1] == "." { // a schema stands before the name
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

// columns returns the columns that the first three of words can mean, which are the name or
// alias of a table, a dot, and a column. For example, for the words o, ., user_id and =, it
// returns the column user_id of each table for which o may stand. It returns nil if words
// do not begin in this form.
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

// mentions reports whether a column's comment shows that the column holds the key, such as
// users.id. Such a comment contains "users.id", or the name of the table and a word about
// keys, as in "refers to a user".
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
