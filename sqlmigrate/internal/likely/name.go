package likely

import (
	"slices"
	"strings"
)

// A columnName is the parsed name of a column. For last_user_id, the words are last, user
// and id, and the stem is last and user.
type columnName struct {
	words  []string // all words of the name
	stem   []string // the words before the word for a key, such as id; nil if there is no such word
	unsure bool     // whether the word for a key is only a part of a word or comes first, as in paid and id_card
	number bool     // whether the last word is a word for a number that can be the key, as in order_no
	amount bool     // whether the column counts or measures something, as quantity
}

// parseName splits the name of a column into words, and finds the word for a key, such as
// id, and the stem before it. The last word for a key counts. Further words may follow it,
// as in user_id_old, whose stem is user.
func parseName(column string) columnName {
	n := columnName{words: wordsOf(column)}
	if len(n.words) == 0 {
		return n
	}
	last := len(n.words) - 1
	n.amount, n.number = amountWords[n.words[last]] || slices.ContainsFunc(n.words, func(word string) bool { return countWords[word] }), numberWords[n.words[last]]
	for i := last; i > 0; i-- {
		// In user_fk_id, fk and id are words for a key, and the stem ends before fk. In
		// fk_user_id, the stem begins after fk.
		if keyWords[n.words[i]] && !keyWords[n.words[i-1]] {
			n.stem = n.words[:i]
			if keyWords[n.words[0]] && i > 1 {
				n.stem = n.stem[1:]
			}
			return n
		}
	}
	switch {
	case n.namesRow(): // as created_by
		n.stem = n.words
	case last > 0 && keyWords[n.words[0]]: // as id_card
		n.stem, n.unsure = n.words[1:], true
	case !notKeyWords[n.words[last]]: // perhaps as userid, but not as paid
		n.splitGlued(last)
	}
	return n
}

// splitGlued sets the stem if the last word ends with a word for a key. For lastuserid, the
// stem is lastuser. last is the index of the last word.
func (n *columnName) splitGlued(last int) {
	for _, end := range []string{"ids", "id"} {
		if rest, ok := strings.CutSuffix(n.words[last], end); ok && rest != "" {
			n.stem, n.unsure = append(slices.Clone(n.words[:last]), rest), true
			return
		}
	}
}

// namesRow reports whether the name refers to a row by its form alone, without a word for a
// key, as created_by, assigned_to and merged_into do. A name that ends with by refers to a
// row, unless one of the listed words stands before by, as in sort_by. A name that ends
// with to, from, into or of refers to a row only if a participle (…ed) or a listed word
// stands before this word, as in reports_to.
func (n columnName) namesRow() bool {
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
