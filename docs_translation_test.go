package gormflake_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTranslations compares each page in Chinese with its original, passage
// by passage, in what no translation may change: code, the shape of headings and
// tables, and in every paragraph, item and row its inline code, links and
// numbers.
func TestTranslations(t *testing.T) {
	t.Parallel()
	translated := 0
	for _, p := range pages(t) {
		if !strings.HasSuffix(p.path, ".zh-CN.md") {
			continue
		}
		translated++
		text, err := os.ReadFile(original(p.path))
		if err != nil {
			t.Fatal(err)
		}
		comparePassages(t, document{original(p.path), string(text)}, p)
	}
	if translated == 0 {
		t.Error("no page is translated")
	}
}

// original is the page of which path is a translation, or path itself.
func original(path string) string {
	return strings.Replace(path, ".zh-CN.md", ".md", 1)
}

// comparePassages stops at the first pair of different kinds: all after it are
// pairs by chance.
func comparePassages(t *testing.T, want, got document) {
	t.Helper()
	wants, gots := want.passages(), got.passages()
	for i := range min(len(wants), len(gots)) {
		w, g := wants[i], gots[i]
		if w.kind != g.kind {
			t.Errorf("%s has %s\n\t%s\nwhere %s has %s\n\t%s", got.path, g.kind, g.text, want.path, w.kind, w.text)
			return
		}
		if wf, gf := w.facts(), g.facts(); !slices.Equal(wf, gf) {
			t.Errorf("%s and %s differ:\n\t%s\n\t%s\n\t%q\n\t%q", want.path, got.path, w.text, g.text, wf, gf)
		}
	}
	if len(wants) != len(gots) {
		t.Errorf("%s has %d passages, %s has %d", want.path, len(wants), got.path, len(gots))
	}
}

// A passage is a heading, a table's row, an item, a paragraph, or code.
type passage struct{ kind, text string }

var passagePattern = regexp.MustCompile("(?m)" + strings.Join([]string{
	"(?P<code>^```(?s:.*?)^```$|^    .*$(?:\n    .*$)*)",
	`(?P<heading>^#+ .*$)`,
	`(?P<row>^\|.*$)`,
	`(?P<item>^ *(?:[-*+]|\d+\.) .*$(?:\n +\S.*$)*)`,
	`(?P<paragraph>^ {0,3}\S.*$(?:\n[^\s|#-].*$)*)`,
}, "|"))

func (p document) passages() []passage {
	var passages []passage
	for _, found := range passagePattern.FindAllStringSubmatch(p.text, -1) {
		i := 1 + slices.IndexFunc(found[1:], func(s string) bool { return s != "" })
		passages = append(passages, passage{passagePattern.SubexpNames()[i], found[0]})
	}
	return passages
}

var number = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// facts are what is the same in both languages. How often a paragraph says the
// same name is up to its language, how often it says a number is not.
func (p passage) facts() []string {
	if p.kind == "code" {
		return []string{p.text}
	}
	facts := code.FindAllString(p.text, -1)
	for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(p.text, ""), -1) {
		path, _, _ := strings.Cut(found[1], "#")
		facts = append(facts, "link to "+original(path))
	}
	slices.Sort(facts)
	facts = slices.Compact(facts)
	return append(append(facts, p.shape()...), p.numbers()...)
}

// shape is the level of a heading and the width of a row.
func (p passage) shape() []string {
	switch p.kind {
	case "heading":
		level, _, _ := strings.Cut(p.text, " ")
		return []string{level}
	case "row":
		return []string{fmt.Sprintf("%d columns", strings.Count(p.text, "|")-strings.Count(p.text, `\|`)-1)}
	}
	return nil
}

// numbers are those of the text, without what links lead to, sorted because
// languages differ in order.
func (p passage) numbers() []string {
	text := link.ReplaceAllString(code.ReplaceAllString(p.text, ""), "]")
	numbers := number.FindAllString(namedMonth.ReplaceAllStringFunc(text, monthNumber), -1)
	slices.Sort(numbers)
	return numbers
}

var namedMonth = regexp.MustCompile(`[A-Z][a-z]+ \d{4}`)

// monthNumber turns "July 2080" into numbers, as Chinese writes it.
func monthNumber(text string) string {
	month, err := time.Parse("January 2006", text)
	if err != nil {
		return text
	}
	return month.Format("2006 1")
}
