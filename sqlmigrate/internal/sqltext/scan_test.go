package sqltext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// Scan splits SQL text into words, quoted names, texts and signs by the rules of a database.
// The same text has different tokens in different databases, so most rules have a case with
// the rule and a case without it.
func TestScan(t *testing.T) {
	t.Parallel()
	mysql := sqltext.Rules{Backslash: true, Hash: true, Backticks: true}
	for name, test := range map[string]struct {
		text  string
		rules sqltext.Rules
		want  string // the kinds of the tokens: W word, N name, T text, S sign
	}{
		"words":          {"SELECT a1, _b$ FROM été", sqltext.Rules{}, "W:SELECT W:a1 S:, W:_b$ W:FROM W:été"},
		"signs":          {"a<=>b::c:=d<>e<=f>=g!=h=i", sqltext.Rules{}, "W:a S:<=> W:b S::: W:c S::= W:d S:<> W:e S:<= W:f S:>= W:g S:!= W:h S:= W:i"},
		"comments":       {"a -- 'b\n c /* \" \n d */ e --", sqltext.Rules{}, "W:a W:c W:e"},
		"open comment":   {"a /* b", sqltext.Rules{}, "W:a"},
		"nested":         {"a /* /* b */ c /*/ d */ e */ f /**/ g", sqltext.Rules{Nested: true}, "W:a W:f W:g"},
		"nested, open":   {"a /* /* b */ c", sqltext.Rules{Nested: true}, "W:a"},
		"not nested":     {"a /* /* b */ c", sqltext.Rules{}, "W:a W:c"},
		"double minus":   {"a --1\n b", mysql, "W:a S:- S:- W:1 W:b"},
		"hash":           {"a # 'b\n c", mysql, "W:a W:c"},
		"no hash":        {"a #b", sqltext.Rules{}, "W:a S:# W:b"},
		"doubled":        {`'it''s' "a""b"`, sqltext.Rules{}, `T:it's N:a"b`},
		"empty":          {`'' "" x`, sqltext.Rules{}, "T: N: W:x"},
		"open":           {`a 'b "c`, sqltext.Rules{}, `W:a T:b "c`},
		"backslash":      {`'a\'b\\' c`, mysql, `T:a'b\ W:c`},
		"no backslash":   {`'a\' b`, sqltext.Rules{}, `T:a\ W:b`},
		"last backslash": {`'a\`, mysql, `T:a\`},
		"backticks":      {"`a``b\\` c", mysql, "N:a`b\\ W:c"},
		"no backticks":   {"`a`", sqltext.Rules{}, "S:` W:a S:`"},
		"brackets":       {"[a 'b] c [d", sqltext.Rules{Brackets: true}, "N:a 'b W:c N:d"},
		"no brackets":    {"a[1]", sqltext.Rules{}, "W:a S:[ W:1 S:]"},
		"dollars":        {"$$a$1$", sqltext.Rules{}, "W:$$a$1$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, token := range sqltext.Scan(test.text, test.rules) {
				got = append(got, fmt.Sprintf("%c:%s", "WNTS"[token.Kind], token.Text))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%s\ngot  %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// For any text, the tokens are in order and do not overlap, and Scan leaves out only blanks
// and comments. The arguments backslash and hash set the fields Backslash and Hash of
// Rules, and the argument others sets the fields Brackets and Backticks.
func FuzzScan(f *testing.F) {
	f.Add(`SELECT "a""b", 'c' FROM t -- d`, false, false, false)
	f.Add("INSERT INTO `a` VALUES ('it\\'s') # b\n", true, true, false)
	f.Add("$a$ b $a$ [c] /* d */", false, false, true)
	f.Fuzz(func(t *testing.T, text string, backslash, hash, others bool) {
		at := 0
		rest := func(gap string) {
			if gap = strings.TrimSpace(gap); gap != "" && !strings.HasPrefix(gap, "--") && !strings.HasPrefix(gap, "/*") && !strings.HasPrefix(gap, "#") {
				t.Errorf("%q: %q is left out", text, gap)
			}
		}
		for _, token := range sqltext.Scan(text, sqltext.Rules{Backslash: backslash, Hash: hash, Brackets: others, Backticks: others}) {
			if token.Start < at || token.End <= token.Start || token.End > len(text) {
				t.Fatalf("%q: token %+v after %d", text, token, at)
			}
			rest(text[at:token.Start])
			at = token.End
		}
		rest(text[at:])
	})
}
