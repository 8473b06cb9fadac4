package likely

import (
	"slices"
	"strings"
)

// A columnName is the parsed name of a column.
type columnName struct {
	words  []string // all words of the name
	stem   []string // the words before the word for a key; nil if there is no such word
	unsure bool     // whether the word for a key is only a part of a word or comes first, as in paid and id_card
	number bool     // whether the last word is a word for a number that can be the key, as in order_no
	amount bool     // whether the column counts or measures something
}

// parseName finds the word for a key in the name of a column, and the words before it. Of
// several words for a key, the last counts. Further words may follow it, as in
// user_id_old.
func parseName(column string) columnName {
	n := columnName{words: wordsOf(column)}
	if len(n.words) == 0 {
		return n
	}
	last := len(n.words) - 1
	n.amount, n.number = amountWords[n.words[last]] || slices.ContainsFunc(n.words, func(word string) bool { return countWords[word] }), numberWords[n.words[last]]
	for i := last; i > 0; i-- {
		// Of adjacent words for a key, as in user_fk_id, the stem ends before the first.
		// In a name such as fk_user_id, it begins after the first word.
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
	case !notKeyWords[n.words[last]]:
		n.splitGlued(last)
	}
	return n
}

// splitGlued finds a word for a key at the end of the last word, as in userid. last is
// the index of this word.
func (n *columnName) splitGlued(last int) {
	for _, end := range []string{"ids", "id"} {
		if rest, ok := strings.CutSuffix(n.words[last], end); ok && rest != "" {
			n.stem, n.unsure = append(slices.Clone(n.words[:last]), rest), true
			return
		}
	}
}

// isBy reports whether the name has a form like created_by, assigned_to or merged_into,
// which refers to a row without a word for a key. Before by, the words in the list make
// other names, such as sort_by. Before to, from, into and of, a participle or a word in
// the list is needed, as in reports_to.
func (n columnName) isBy() bool {
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
