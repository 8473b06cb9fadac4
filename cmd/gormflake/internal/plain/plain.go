// Package plain rewrites errors of the library for users of the program, who may not write Go.
package plain

import "regexp"

// replacements are the patterns that [Words] replaces, each with its replacement. They are
// for errors of packages types, lease and sqllease, which name Go functions, and for errors
// of Cobra about flags. In a template, $1 is the text of the pattern's group, and $0 the text
// of the whole pattern.
var replacements = []struct {
	pattern  *regexp.Regexp
	template string
}{
	// For example: types: ParseID("a\"b"): unexpected 'a'. The group is the Go string in the
	// parentheses.
	{regexp.MustCompile(`types: (?:ID\.)?(?:Parse|Unmarshal)\w+\(("(?:[^"\\]|\\.)*")\): `), "$1 is not an ID: "},
	// For example: lease: WithWindow(1s) out of range. The flag is put before the function.
	{regexp.MustCompile(`\blease: WithWindow\b`), "--window: $0"},
	{regexp.MustCompile(`\blease: WithDatacenter\b`), "--datacenter: $0"},
	{regexp.MustCompile(`\blease: WithWorker\b`), "--worker: $0"},
	// For example: the statement that sqllease.DDL("mysql") returns.
	{regexp.MustCompile(`sqllease\.DDL\("(\w+)"\) returns`), `"gormflake workers ddl --dialect $1" prints`},
	// For example: if any flags in the group [json sql] are set none of the others can be;
	// [json sql] were all set. The group is the second list.
	{regexp.MustCompile(`^if any flags in the group \[[^]]*\] are set none of the others can be; \[([^]]*)\] were all set$`), "flags [$1], or their variables, exclude each other: want one of them"},
	{regexp.MustCompile(`^required flag\(s\) "(\w+)" not set$`), "flag --$1 is missing"},
}

// Words returns the text of an error in words for the command line. It names flags and
// commands in place of Go functions. Texts without a pattern of replacements do not change.
func Words(text string) string {
	for _, r := range replacements {
		text = r.pattern.ReplaceAllString(text, r.template)
	}
	return text
}
