package likely

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// tableIndex finds the tables of the survey, and the moved keys, by words.
type tableIndex struct {
	keys  map[plan.TableName]Key
	full  map[string][]plan.TableName // tables by the plural of their names
	ends  map[string][]plan.TableName // tables by the plural of their last words, such as users for auth_users
	named map[string][]Key            // keys with a name of their own, such as film_id, by this name

	// owners maps a key that refers to another key to that key, for example
	// user_stats.user_id to users.id.
	owners map[Key]Key
}

// newTables returns the tables of all, and of the keys, by their words. all may contain a
// table several times.
func newTables(all []plan.TableName, keys []Key) *tableIndex {
	t := &tableIndex{keys: map[plan.TableName]Key{}, full: map[string][]plan.TableName{}, ends: map[string][]plan.TableName{}, named: map[string][]Key{}, owners: map[Key]Key{}}
	for _, key := range keys {
		t.keys[key.Table] = key
		all = append(all, key.Table)
		// A name such as id or code, which many columns have, does not show its table.
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

// A nameMeaning is the information in the name of a column.
type nameMeaning int

const (
	noMeaning     nameMeaning = iota
	otherKey                  // the key of a table that is not moved
	someKey                   // a key of some table
	maybeGivenKey             // perhaps a key of the given tables
	givenKey                  // a key of the given tables
)

// meaningOf returns the meaning of a column's name, and the keys that the column may
// hold. table is the table of the column, because a name such as type_id means something
// else in each table. In place of a key that refers to another key, meaningOf returns that
// key.
func (t *tableIndex) meaningOf(table plan.TableName, n columnName) (nameMeaning, []Key) {
	meaning, keys := t.meaningOfWords(table, n)
	return meaning, t.owned(keys)
}

// meaningOfWords returns the meaning of a column's name as [tableIndex.meaningOf] does,
// with all keys that the name fits.
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
	// The tables whose whole name is in the stem count first, for example users for
	// last_user_id. Otherwise a table whose name ends with the stem counts, for example
	// auth_users.
	about, last := t.tablesAtEnd(table, n.stem), n.stem[len(n.stem)-1]
	if len(about) == 0 && keyWords[n.words[0]] { // as in id_address_delivery
		about = t.tablesAtStart(table, n.stem)
	}
	found := about
	if len(found) == 0 {
		found = t.preferSchemaOf(table, t.ends[plural(n.stem)])
	}
	if len(found) == 0 { // as from_stage_id of ps_stages
		found = t.preferSchemaOf(table, t.ends[plural(withoutQualifiers(n.stem))])
	}
	switch keys := t.givenKeys(found); {
	case len(keys) > 0:
		return givenKey, keys
	case len(about) > 0:
		return otherKey, nil
	// The word for a key may be there by chance, or the stem names an amount.
	case n.unsure && !isRole(last), amountWords[last]:
		return noMeaning, nil
	// For example, type_id of orders is a key of order_types, which is not moved.
	case slices.ContainsFunc(found, func(other plan.TableName) bool {
		return plural(wordsOf(other.Name)) == plural(slices.Concat(singularWords(table), n.stem))
	}):
		return otherKey, nil
	}
	return someKey, nil
}

// singularWords returns the words of a table's name with the last word in the singular,
// as the names of other tables begin with it. For orders it returns order, as in
// order_types.
func singularWords(table plan.TableName) []string {
	words := wordsOf(table.Name)
	if len(words) > 0 {
		last := len(words) - 1
		words[last] = strings.TrimSuffix(words[last], "s")
	}
	return words
}

// meaningWithoutKeyWord returns the meaning of a name that has no word for a key, such as
// id. A name that ends like the name of a table, as user or order_no, may hold the keys of
// the table, unless it is a position in a list, as sort_order. A role alone, as owner,
// means a key of some table.
func (t *tableIndex) meaningWithoutKeyWord(table plan.TableName, n columnName) (nameMeaning, []Key) {
	words := n.words
	if n.number { // before the count, because num of order_num is a word for both
		words = words[:len(words)-1]
	}
	if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return countWords[word] }) { // as in visit_total_actions
		return noMeaning, nil
	}
	found := t.tablesAtEnd(table, words)
	if len(found) == 0 { // as type of area, if there is a table area_types
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

// byKeyName returns the keys with a name of their own, such as film_id, with which the
// name of the column ends. If other words precede it, it must have two words, because a
// single word such as mid can end a name by chance.
func (t *tableIndex) byKeyName(n columnName) []Key {
	for i := range n.words {
		if keys := t.named[strings.Join(n.words[i:], "_")]; len(keys) > 0 && (i == 0 || len(n.words)-i > 1) {
			return keys
		}
	}
	return t.idFirst(n)
}

// idFirst returns the keys whose names are id and the name of their table, such as
// id_address of ps_address, if the column's name contains the name of the key, as
// id_address_delivery does.
func (t *tableIndex) idFirst(n columnName) []Key {
	for from := range n.words {
		for to := len(n.words); to > from; to-- {
			name := n.words[from:to]
			thing, ok := strings.CutPrefix(strings.Join(name, "_"), "id")
			keys := slices.DeleteFunc(slices.Clone(t.named[strings.Join(name, "_")]), func(key Key) bool {
				return !slices.Contains(t.ends[plural([]string{strings.Trim(thing, "_")})], key.Table) && !slices.Contains(t.full[plural([]string{strings.Trim(thing, "_")})], key.Table)
			})
			if ok && thing != "" && len(keys) > 0 {
				return keys
			}
		}
	}
	return nil
}

// findOwners fills t.owners. It finds a key's owner by a foreign key or, unless the
// database assigns the key, by its name.
func (t *tableIndex) findOwners(survey *engine.Survey) {
	given, unassigned := map[Key]Key{}, map[Key]bool{}
	for _, key := range t.keys {
		given[columnOf(key.Table, key.Column)] = key
	}
	// The survey does not list a wide key, so it is unknown whether the database assigns it.
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

// ownerByName returns the only key of another table that the name of a key means, as
// users.id for user_stats.user_id.
func (t *tableIndex) ownerByName(key Key) (Key, bool) {
	name := parseName(key.Column)
	if len(name.stem) == 0 { // as release_dates.release
		name.stem = name.words
	}
	tables := t.preferSchemaOf(key.Table, t.full[plural(name.stem)])
	keys := t.givenKeys(tables)
	if len(keys) != 1 || slices.Contains(tables, key.Table) {
		return Key{}, false
	}
	return keys[0], true
}

// owned replaces each key that refers to another key by that key, and removes duplicates.
func (t *tableIndex) owned(keys []Key) (owned []Key) {
	for _, key := range keys {
		// The other key can refer to a third key, and two keys can refer to each other.
		seen := map[Key]bool{key: true}
		for owner, ok := t.owners[key]; ok && !seen[owner]; owner, ok = t.owners[key] {
			seen[owner], key = true, owner
		}
		owned = engine.AppendNew(owned, key)
	}
	return owned
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
// say which of several rows is meant, as from in from_stage.
func withoutQualifiers(stem []string) []string {
	for len(stem) > 1 && (tablePrefixes[stem[0]] || directionWords[stem[0]]) {
		stem = stem[1:]
	}
	return stem
}

// splitRole separates a word such as lastuser into last and user, if there is a table
// users.
func (t *tableIndex) splitRole(stem []string) []string {
	last := len(stem) - 1
	for role := range tablePrefixes {
		if rest, ok := strings.CutPrefix(stem[last], role); ok && rest != "" && t.full[plural([]string{rest})] != nil {
			return append(slices.Clone(stem[:last]), role, rest)
		}
	}
	return stem
}

// preferSchemaOf returns the tables of found that are in the schema of table, or all of
// found if none is in this schema.
func (t *tableIndex) preferSchemaOf(table plan.TableName, found []plan.TableName) []plan.TableName {
	same := slices.DeleteFunc(slices.Clone(found), func(other plan.TableName) bool { return other.Schema != table.Schema })
	if len(same) > 0 {
		return same
	}
	return found
}

// givenKeys returns the keys of those tables that have one.
func (t *tableIndex) givenKeys(found []plan.TableName) []Key {
	var keys []Key
	for _, table := range found {
		if key, ok := t.keys[table]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// isRole reports whether a word is a role, such as owner, or ends with a role of at least
// four letters, such as coowner.
func isRole(word string) bool {
	for role := range roleWords {
		if word == role || len(role) > 3 && strings.HasSuffix(word, role) {
			return true
		}
	}
	return false
}
