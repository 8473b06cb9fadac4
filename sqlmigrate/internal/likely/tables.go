package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A tableIndex finds the tables of the survey, and the given keys, by the words of names.
// The given keys are those to which references are sought. The plurals come from the
// function plural, which gives user and users the same form.
type tableIndex struct {
	keys  map[plan.TableName]Key      // the given keys by their tables
	full  map[string][]plan.TableName // tables by the plural of their names
	ends  map[string][]plan.TableName // tables by the plural of their last words, such as users for auth_users
	named map[string][]Key            // keys with a name of their own, such as film_id, by this name

	// owners maps a key that refers to another key to that key, for example
	// user_stats.user_id to users.id.
	owners map[Key]Key
}

// newTableIndex returns an index of the tables in all and of the given keys and their
// tables. all may contain a table several times.
func newTableIndex(all []plan.TableName, keys []Key) *tableIndex {
	t := &tableIndex{keys: map[plan.TableName]Key{}, full: map[string][]plan.TableName{}, ends: map[string][]plan.TableName{}, named: map[string][]Key{}, owners: map[Key]Key{}}
	for _, key := range keys {
		t.keys[key.Table] = key
		all = append(all, key.Table)
		// A key with a name that many columns have, such as id or code, is not found by
		// this name.
		if keyName := strings.Join(wordsOf(key.Column), "_"); keyName != "" && keyName != "id" && !numberWords[keyName] && !amountWords[keyName] && !keyWords[keyName] {
			t.named[keyName] = append(t.named[keyName], key)
		}
	}
	seen := map[plan.TableName]bool{}
	for _, table := range all {
		words := wordsOf(table.Name)
		if seen[table] || len(words) == 0 {
			continue
		}
		seen[table] = true
		t.full[plural(words)] = append(t.full[plural(words)], table)
		for i := 1; i < len(words); i++ {
			t.ends[plural(words[i:])] = append(t.ends[plural(words[i:])], table)
		}
	}
	return t
}

// A nameMeaning says what the name of a column shows about its values. In the examples,
// the given key is that of table users.
type nameMeaning int

const (
	noMeaning     nameMeaning = iota // no reference, as price
	otherKey                         // a reference to a table without a given key, as order_id if there is a table orders
	someKey                          // a reference to an unknown table, as owner_id
	maybeGivenKey                    // perhaps a reference to a given key, as user
	givenKey                         // a reference to a given key, as user_id
)

// meaningOf returns the meaning of a column's name n, and the given keys that the column
// may hold. table is the table of the column, because a name such as type_id means
// something else in each table. If a given key refers to another given key, meaningOf
// returns the other key in its place, for example users.id for user_stats.user_id.
func (t *tableIndex) meaningOf(table plan.TableName, n columnName) (nameMeaning, []Key) {
	meaning, keys := t.meaningOfWords(table, n)
	return meaning, t.replaceOwned(keys)
}

// meaningOfWords returns the meaning of a column's name as [tableIndex.meaningOf] does, but
// with all keys that the name fits, also those that refer to another key. It compares the
// words of the name first with the names of keys, and then with the names of tables.
func (t *tableIndex) meaningOfWords(table plan.TableName, n columnName) (nameMeaning, []Key) {
	// Several tables may have a key of this name, for example users and user_stats both
	// have user_id.
	if keys := t.byKeyName(n); len(keys) > 0 {
		return givenKey, keys
	}
	if len(n.stem) == 0 {
		return t.meaningWithoutKeyWord(table, n)
	}
	if n.unsure {
		n.stem = t.splitRole(n.stem)
	}
	// Search for the tables that the stem names. A table whose whole name is in the stem,
	// for example users for last_user_id, shows the meaning for certain. Otherwise a table
	// counts whose name ends with the stem, for example auth_users for user_id.
	certain, last := t.tablesAtEnd(table, n.stem), n.stem[len(n.stem)-1]
	if len(certain) == 0 && keyWords[n.words[0]] { // as in id_address_delivery
		certain = t.tablesAtStart(table, n.stem)
	}
	found := certain
	if len(found) == 0 {
		found = t.preferSchemaOf(table, t.ends[plural(n.stem)])
	}
	if len(found) == 0 { // as from_stage_id, which refers to ps_stages
		found = t.preferSchemaOf(table, t.ends[plural(withoutQualifiers(n.stem))])
	}
	switch keys := t.givenKeys(found); {
	case len(keys) > 0:
		return givenKey, keys
	case len(certain) > 0: // a table without a given key
		return otherKey, nil
	// The word for a key may be there by chance, as in id_card, or the stem names an
	// amount, as in status_id.
	case n.unsure && !isRole(last), amountWords[last]:
		return noMeaning, nil
	// For example, type_id of orders refers to order_types, a table without a given key.
	case slices.ContainsFunc(found, func(other plan.TableName) bool {
		return plural(wordsOf(other.Name)) == plural(slices.Concat(singularWords(table), n.stem))
	}):
		return otherKey, nil
	}
	return someKey, nil
}

// singularWords returns the words of a table's name with the last word in the singular. For
// orders it returns order, with which the names of related tables such as order_types
// begin.
func singularWords(table plan.TableName) []string {
	words := wordsOf(table.Name)
	if len(words) > 0 {
		last := len(words) - 1
		words[last] = strings.TrimSuffix(words[last], "s")
	}
	return words
}

// meaningWithoutKeyWord returns the meaning of a column's name that has no word for a key,
// such as id. If a table has the name, as for user or order_no, the column may hold the
// keys of this table, unless it is a position in a list, as sort_order. A role alone, as
// owner, means a key of some table.
func (t *tableIndex) meaningWithoutKeyWord(table plan.TableName, n columnName) (nameMeaning, []Key) {
	words := n.words
	if n.number { // order_no becomes order
		words = words[:len(words)-1]
	}
	// This follows the removal, because num of order_num is also one of the countWords.
	if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return countWords[word] }) { // as in visit_total_actions
		return noMeaning, nil
	}
	found := t.tablesAtEnd(table, words)
	if len(found) == 0 { // as column type of table area, if there is a table area_types
		found = t.preferSchemaOf(table, t.full[plural(slices.Concat(singularWords(table), words))])
	}
	if keys := t.givenKeys(found); len(keys) > 0 && !sortWords[words[0]] {
		return maybeGivenKey, keys
	}
	if len(words) == 1 && bareRoleWords[words[0]] {
		return someKey, nil
	}
	return noMeaning, nil
}

// byKeyName returns the given keys whose own name is at the end of the column's name n, for
// example film.film_id for original_film_id. If other words precede the name of the key in
// n, this name must have two words or more, because a single word such as mid can end a
// name by chance. If there is no such key, byKeyName returns the result of idFirst.
func (t *tableIndex) byKeyName(n columnName) []Key {
	for i := range n.words {
		if keys := t.named[strings.Join(n.words[i:], "_")]; len(keys) > 0 && (i == 0 || len(n.words)-i > 1) {
			return keys
		}
	}
	return t.idFirst(n)
}

// idFirst returns the given keys whose name is contained in the column's name n, and is id
// followed by the name of their table. Instead of the whole name of the table, its last
// words are enough. For example, id_address_delivery contains id_address, the key of table
// ps_address. If n contains the names of several keys, idFirst prefers the first of them,
// and of those that begin at the same word the longest.
func (t *tableIndex) idFirst(n columnName) []Key {
	for from := range n.words {
		for to := len(n.words); to > from; to-- {
			keyName := strings.Join(n.words[from:to], "_")
			thing, ok := strings.CutPrefix(keyName, "id")
			tableName := plural([]string{strings.Trim(thing, "_")})
			keys := slices.DeleteFunc(slices.Clone(t.named[keyName]), func(key Key) bool {
				return !slices.Contains(t.ends[tableName], key.Table) && !slices.Contains(t.full[tableName], key.Table)
			})
			if ok && thing != "" && len(keys) > 0 {
				return keys
			}
		}
	}
	return nil
}

// findOwners fills t.owners. A given key can itself refer to another given key, its owner,
// for example user_stats.user_id to users.id. findOwners finds the owner by a foreign key,
// or by the name of the key that refers to it. The name does not count if the database
// assigns this key, because the key then has values of its own.
func (t *tableIndex) findOwners(survey *engine.Survey) {
	given, unassigned := map[Key]Key{}, map[Key]bool{}
	for _, key := range t.keys {
		given[columnOf(key.Table, key.Column)] = key
	}
	// The survey does not list a key that is wide already. It is unknown whether the
	// database assigns such a key, so its name does not count.
	for _, c := range survey.Columns {
		unassigned[columnOf(c.Table, c.Name)] = !c.Assigned
	}
	for id, key := range given {
		if owner, ok := t.ownerByName(key); ok && unassigned[id] {
			t.owners[key] = owner
		}
	}
	for _, r := range survey.ForeignKeys {
		key, ok := given[columnOf(r.Table, r.Column)]
		if owner, isGiven := given[columnOf(r.ToTable, r.ToColumn)]; ok && isGiven && owner != key {
			t.owners[key] = owner
		}
	}
}

// ownerByName returns the given key of another table to which a key refers by its name,
// such as users.id for user_stats.user_id. It returns false if there is no such key, if
// there are several, or if the name means the table of the key itself.
func (t *tableIndex) ownerByName(key Key) (Key, bool) {
	name := parseName(key.Column)
	if len(name.stem) == 0 { // as release_dates.release, which refers to releases
		name.stem = name.words
	}
	tables := t.preferSchemaOf(key.Table, t.full[plural(name.stem)])
	keys := t.givenKeys(tables)
	if len(keys) != 1 || slices.Contains(tables, key.Table) {
		return Key{}, false
	}
	return keys[0], true
}

// replaceOwned returns the keys without duplicates, and with a key that refers to another
// given key replaced by the other key. For example, it returns users.id for users.id and
// user_stats.user_id, because all values of user_stats.user_id are values of users.id.
func (t *tableIndex) replaceOwned(keys []Key) (replaced []Key) {
	for _, key := range keys {
		// Follow the references to their end. seen ends the loop if two keys refer to each
		// other.
		seen := map[Key]bool{key: true}
		for owner, ok := t.owners[key]; ok && !seen[owner]; owner, ok = t.owners[key] {
			seen[owner], key = true, owner
		}
		replaced = engine.AppendNew(replaced, key)
	}
	return replaced
}

// tablesAtEnd returns the tables whose name is the end of words. It prefers the longest
// end, which names a table most exactly, and tables of the same schema as table.
func (t *tableIndex) tablesAtEnd(table plan.TableName, words []string) []plan.TableName {
	for i := range words {
		if found := t.preferSchemaOf(table, t.full[plural(words[i:])]); len(found) > 0 {
			return found
		}
	}
	return nil
}

// tablesAtStart returns the tables whose name is the beginning of words. It prefers the
// longest beginning, and tables of the same schema as table.
func (t *tableIndex) tablesAtStart(table plan.TableName, words []string) []plan.TableName {
	for i := len(words); i > 0; i-- {
		name := plural(words[:i])
		if found := t.preferSchemaOf(table, t.full[name]); len(found) > 0 {
			return found
		}
	}
	return nil
}

// withoutQualifiers returns the words of a stem without the words at its beginning that
// only distinguish several references to the same table. For from_stage it returns stage.
func withoutQualifiers(stem []string) []string {
	for len(stem) > 1 && (tablePrefixes[stem[0]] || directionWords[stem[0]]) {
		stem = stem[1:]
	}
	return stem
}

// splitRole returns the stem with its last word split in two if it is written together with
// a word before it. For lastuser it returns last and user, if there is a table users.
func (t *tableIndex) splitRole(stem []string) []string {
	last := len(stem) - 1
	for role := range tablePrefixes {
		if rest, ok := strings.CutPrefix(stem[last], role); ok && rest != "" && t.full[plural([]string{rest})] != nil {
			return append(slices.Clone(stem[:last]), role, rest)
		}
	}
	return stem
}

// preferSchemaOf returns the tables of found that are in the schema of table. If no table
// is in this schema, it returns all of found.
func (t *tableIndex) preferSchemaOf(table plan.TableName, found []plan.TableName) []plan.TableName {
	same := slices.DeleteFunc(slices.Clone(found), func(other plan.TableName) bool { return other.Schema != table.Schema })
	if len(same) > 0 {
		return same
	}
	return found
}

// givenKeys returns the given keys of the tables. It leaves out tables without a given key.
func (t *tableIndex) givenKeys(found []plan.TableName) []Key {
	var keys []Key
	for _, table := range found {
		if key, ok := t.keys[table]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// isRole reports whether a word is the role of a row, such as owner, or ends with a role of
// at least four letters, such as coowner.
func isRole(word string) bool {
	for role := range roleWords {
		if word == role || len(role) > 3 && strings.HasSuffix(word, role) {
			return true
		}
	}
	return false
}
