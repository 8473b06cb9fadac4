package likely

import (
	"regexp"
	"strings"
	"unicode"

	"gorm.io/gorm/schema"
)

// wordSet returns the set of the words in a text.
func wordSet(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

var (
	// keyWords are the words for a key.
	keyWords = wordSet("id ids fk fks pk ref refs pkid fkid idref")

	// roleWords are words for a row of another table by its role, as in owner_id.
	roleWords = wordSet(`owner author creator updater editor deleter approver reviewer assignee assigner assigned reporter sender
		recipient receiver manager supervisor boss leader head member moderator uploader poster banner blocker follower
		subscriber inviter invitee requester requestor actor agent seller buyer payer payee driver teacher student parent
		child root ancestor descendant predecessor successor previous prev next origin original source target subject
		entity object record user account person customer client employee staff company organization organisation org
		tenant team vendor supplier product item order invoice payment post comment message thread topic category group`)

	// tablePrefixes are words that precede the name of a table, as in last_user_id.
	tablePrefixes = wordSet("parent last first prev previous next max min old new root main default current original source target owner")

	// directionWords are further words that precede the name of a table, as in from_stage.
	directionWords = wordSet("from to via")

	// countWords mark a name as a count, as in visit_total_actions, unless it has a word for
	// a key.
	countWords = wordSet("total totals count counts num nb nbr avg average sum max min")

	// bareRoleWords are roles that mean a key even without a word for a key, as in a
	// column with the name owner.
	bareRoleWords = wordSet("owner author creator updater editor approver reviewer assignee sender recipient receiver manager supervisor parent ancestor")

	// sortWords are words at the beginning of a name for a position in a list, as in
	// sort_order.
	sortWords = wordSet("sort sorted sorting display list print view menu tab show")

	// numberWords are words for a number that may be the key, as in order_no.
	numberWords = wordSet("no nr num number key code")

	// amountWords are words for values that are counted, measured or listed, and usually are
	// no keys.
	amountWords = wordSet(`quantity qty amount count counter counts total totals sum subtotal balance price cost fee tax cents
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

	// notKeyWords are words that end with id or ids by chance.
	notKeyWords = wordSet(`paid unpaid prepaid repaid overpaid grid valid invalid void avoid solid fluid bid rebid avid humid rapid
		liquid hybrid pyramid android asteroid said laid maid raid aid acid arid covid david kid lid mid amid rid grids
		bids kids aids acids hybrids voids fluids solids liquids stupid vivid splendid candid euclid orchid mermaid`)
)

// hump matches the border of two words in a name in camel case, such as tS in lastSubscriber.
var hump = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// wordsOf returns the words of a name in lower case and without digits. For example,
// lastSubscriber_id2 has the words last, subscriber and id.
func wordsOf(name string) []string {
	apart := strings.ToLower(hump.ReplaceAllString(name, "$1 $2"))
	return strings.FieldsFunc(apart, func(r rune) bool { return !unicode.IsLetter(r) })
}

// plural returns the plural of words, which is the name that GORM gives to a table of such
// rows, for example order_types for order and type. It is the same for the singular and the
// plural, so that a column user_id and a table users, or user, are compared by this form.
func plural(words []string) string {
	return schema.NamingStrategy{}.TableName(strings.Join(words, "_"))
}
