package browsertest

import (
	"testing"
)

// In the browser, the page's modules compute the same vectors as Go. So that the test would
// notice if the check compared nothing, it also spoils the base58 text of an ID on purpose.
// The check must then return three lines: the difference in formatting, the difference in
// parsing, and its usual last line.
func TestVectorsInThePage(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	const check = `(async (spoil) => {
		const snowflake = await import("/snowflake.js");
		const serial = await import("/serial.js");
		const { check } = await import("/testdata/check.js");
		const vectors = await (await fetch("/testdata/vectors.json")).json();
		spoil(vectors);
		return [...check(snowflake, serial, vectors), "checked " + vectors.layouts.length];
	})`
	got := value[[]string](p, check+`(() => {})`)
	for _, wrong := range got[:len(got)-1] {
		t.Error(wrong)
	}
	if got[len(got)-1] != "checked 17" { // eight layouts by name, and nine with extreme fields
		t.Errorf("%s layouts, want 17", got[len(got)-1])
	}
	if spoilt := value[[]string](p, check+`((vectors) => { vectors.layouts[2].ids[1].base58 += "z" })`); len(spoilt) != 3 {
		t.Errorf("a spoilt vector gives %d lines, want 3", len(spoilt))
	}
}
