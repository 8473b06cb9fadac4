package likely

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// hump matches the beginning of a word inside of a name in camel case.
var hump = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// wordsOf returns the words of a name in lower case and without digits. For example,
// lastSubscriber_id2 has the words last, subscriber and id.
func wordsOf(name string) []string {
	apart := strings.ToLower(hump.ReplaceAllString(name, "$1 $2"))
	return strings.FieldsFunc(apart, func(r rune) bool { return !unicode.IsLetter(r) })
}

// plural returns the name of GORM's table for a thing. It is the same for the singular
// and the plural.
func plural(words []string) string {
	return schema.NamingStrategy{}.TableName(strings.Join(words, "_"))
}

// A name is the parsed name of a column.
type name struct {
	words  []string // all words of the name
	stem   []string // the words before the word for a key; nil if there is no such word
	unsure bool     // whether the word for a key is only a part of a word or comes first, as in paid and id_card
	number bool     // whether the last word is a word for a number that can be the key, as in order_no
	amount bool     // whether the column counts or measures something
}

func parseName(column string) name {
	n := name{words: wordsOf(column)}
	if len(n.words) == 0 {
		return n
	}
	last := len(n.words) - 1
	n.amount, n.number = amounts[n.words[last]], numbers[n.words[last]]
	for i := last; i > 0; i-- {
		if keyWords[n.words[i]] && !keyWords[n.words[i-1]] {
			n.stem = n.words[:i]
			if keyWords[n.words[0]] && i > 1 {
				n.stem = n.stem[1:]
			}
			return n
		}
	}
	switch {
	case n.isBy():
		n.stem = n.words
	case last > 0 && keyWords[n.words[0]]:
		n.stem, n.unsure = n.words[1:], true
	case !notKeys[n.words[last]]:
		n.unglue(last)
	}
	return n
}

// unglue finds a word for a key at the end of another word, as in userid.
func (n *name) unglue(last int) {
	for _, end := range []string{"ids", "id"} {
		if rest, ok := strings.CutSuffix(n.words[last], end); ok && rest != "" {
			n.stem, n.unsure = append(slices.Clone(n.words[:last]), rest), true
			return
		}
	}
}

// isBy reports whether the name has a form like created_by, assigned_to or merged_into.
func (n name) isBy() bool {
	last := len(n.words) - 1
	if last < 1 {
		return false
	}
	before := n.words[last-1]
	switch n.words[last] {
	case "by":
		return !slices.Contains([]string{"sort", "sorted", "order", "ordered", "group", "grouped", "divide", "divided", "multiplied", "step", "increment", "incremented", "limited", "off"}, before)
	case "to", "from", "into", "of":
		return strings.HasSuffix(before, "ed") || slices.Contains([]string{"reply", "replies", "reports", "belongs", "refers", "sent", "parent", "copy", "child"}, before)
	}
	return false
}

// tables finds the tables of the survey, and the moved keys, by words.
type tables struct {
	keys  map[plan.TableName]Key
	full  map[string][]plan.TableName // tables by the plural of their names
	ends  map[string][]plan.TableName // tables by the plural of their last words, such as users for auth_users
	named map[string][]Key            // keys with a name of their own, such as film_id, by this name
}

func newTables(all []plan.TableName, keys []Key) *tables {
	t := &tables{map[plan.TableName]Key{}, map[string][]plan.TableName{}, map[string][]plan.TableName{}, map[string][]Key{}}
	for _, key := range keys {
		t.keys[key.Table] = key
		all = append(all, key.Table)
		if own := strings.Join(wordsOf(key.Column), "_"); own != "" && own != "id" && !numbers[own] && !amounts[own] && !keyWords[own] {
			t.named[own] = append(t.named[own], key)
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

// A meaning is the information in the name of a column.
type meaning int

const (
	nothing   meaning = iota
	elsewhere         // the key of a table that is not moved
	role              // a key of some table
	weak              // perhaps a key of the given tables
	named             // a key of the given tables
)

// meaningOf returns the meaning of a column's name, and the keys that it may hold.
func (t *tables) meaningOf(table plan.TableName, n name) (meaning, []Key) {
	if keys := t.byKeyName(n); len(keys) > 0 {
		return named, keys
	}
	if len(n.stem) == 0 {
		return t.meaningOfRest(table, n)
	}
	if n.unsure {
		n.stem = t.split(n.stem)
	}
	about, last := t.about(table, n.stem), n.stem[len(n.stem)-1]
	found := about
	if len(about) == 0 {
		found = t.near(table, t.ends[plural(n.stem)])
	}
	switch keys := t.moved(found); {
	case len(keys) > 0:
		return named, keys
	case len(about) > 0:
		return elsewhere, nil
	case n.unsure && !isRole(last), amounts[last]:
		return nothing, nil
	case slices.ContainsFunc(found, func(other plan.TableName) bool {
		return plural(wordsOf(other.Name)) == plural(slices.Concat(singular(table), n.stem))
	}):
		return elsewhere, nil
	}
	return role, nil
}

// singular returns the words of a table's name with the last word in the singular, as the
// names of other tables begin with it. For orders it returns order, as in order_types.
func singular(table plan.TableName) []string {
	words := wordsOf(table.Name)
	if len(words) > 0 {
		last := len(words) - 1
		words[last] = strings.TrimSuffix(words[last], "s")
	}
	return words
}

// meaningOfRest returns the meaning of a name that has no word for a key.
func (t *tables) meaningOfRest(table plan.TableName, n name) (meaning, []Key) {
	words := n.words
	if n.number {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return nothing, nil
	}
	if keys := t.moved(t.about(table, words)); len(keys) > 0 && !sorting[words[0]] {
		return weak, keys
	}
	if len(words) == 1 && bareRoles[words[0]] {
		return role, nil
	}
	return nothing, nil
}

func (t *tables) byKeyName(n name) []Key {
	for i := range n.words {
		if keys := t.named[strings.Join(n.words[i:], "_")]; len(keys) > 0 && (i == 0 || len(n.words)-i > 1) {
			return keys
		}
	}
	return nil
}

// about returns the tables whose name is the end of words. It prefers the longest end.
func (t *tables) about(table plan.TableName, words []string) []plan.TableName {
	for i := range words {
		if found := t.near(table, t.full[plural(words[i:])]); len(found) > 0 {
			return found
		}
	}
	return nil
}

// split separates a word such as lastuser into last and user, if there is a table users.
func (t *tables) split(stem []string) []string {
	last := len(stem) - 1
	for role := range glues {
		if rest, ok := strings.CutPrefix(stem[last], role); ok && rest != "" && t.full[plural([]string{rest})] != nil {
			return append(slices.Clone(stem[:last]), role, rest)
		}
	}
	return stem
}

// near returns the tables of the same schema as table, or all tables if that schema has
// none.
func (t *tables) near(table plan.TableName, found []plan.TableName) []plan.TableName {
	same := slices.DeleteFunc(slices.Clone(found), func(other plan.TableName) bool { return other.Schema != table.Schema })
	if len(same) > 0 {
		return same
	}
	return found
}

func (t *tables) moved(found []plan.TableName) []Key {
	var keys []Key
	for _, table := range found {
		if key, ok := t.keys[table]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// isRole reports whether a word is a role, or ends with one.
func isRole(word string) bool {
	for role := range roles {
		if word == role || len(role) > 3 && strings.HasSuffix(word, role) {
			return true
		}
	}
	return false
}

func set(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

var (
	keyWords = set("id ids fk fks pk ref refs pkid fkid idref")

	// roles are words for the role of a row.
	roles = set(`owner author creator updater editor deleter approver reviewer assignee assigner assigned reporter sender
		recipient receiver manager supervisor boss leader head member moderator uploader poster banner blocker follower
		subscriber inviter invitee requester requestor actor agent seller buyer payer payee driver teacher student parent
		child root ancestor descendant predecessor successor previous prev next origin original source target subject
		entity object record user account person customer client employee staff company organization organisation org
		tenant team vendor supplier product item order invoice payment post comment message thread topic category group`)

	// glues are words that precede the name of a table.
	glues = set("parent last first prev previous next max min old new root main default current original source target owner")

	// bareRoles are roles that mean a key even without a word for a key.
	bareRoles = set("owner author creator updater editor approver reviewer assignee sender recipient receiver manager supervisor parent ancestor")

	// sorting are words at the beginning of a name for a position in a list, as in
	// sort_order.
	sorting = set("sort sorted sorting display list print view menu tab show")

	// numbers are words for a number that may be the key.
	numbers = set("no nr num number key code")

	// amounts are words for values that are counted or measured.
	amounts = set(`quantity qty amount count counter counts total totals sum subtotal balance price cost fee tax cents
		position pos place ordinal seq sequence index idx offset rank ranking sort sorting order ordering priority weight
		level depth height width length size area volume distance radius thickness
		year month week day days hour hours minute minutes second seconds ms millis date time timestamp epoch age duration
		timeout ttl delay interval period lifetime
		status state stage phase step flag flags mask bits mode type kind class version revision rev generation
		retry retries attempt attempts tries failures errors hits views visits clicks votes likes
		score rating points stars grade percent percentage rate ratio factor discount
		latitude longitude lat lng lon x y z
		port pid code zip postcode
		page pages line lines row rows col cols column columns chapter verse track disc disk floor storey room rooms seat
		seats lap laps round rounds channel channels bitrate frequency samples speed fps dpi hue red green blue alpha
		min max minimum maximum limit threshold capacity quota stock available inventory
		number num nr no bytes kb mb gb temperature humidity pressure voltage
		enabled disabled active deleted visible locked valid paid void
		grid solid fluid bid avid humid rapid liquid hybrid pyramid android asteroid fid`)

	// notKeys are words that end like a word for a key by chance.
	notKeys = set(`paid unpaid prepaid repaid overpaid grid valid invalid void avoid solid fluid bid rebid avid humid rapid
		liquid hybrid pyramid android asteroid said laid maid raid aid acid arid covid david kid lid mid amid rid grids
		bids kids aids acids hybrids voids fluids solids liquids stupid vivid splendid candid euclid orchid mermaid`)
)
