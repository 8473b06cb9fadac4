// Package plain rewrites errors of the library for users who do not write Go.
package plain

import "regexp"

// replacements are the replacements of [Words]. They concern errors of packages types,
// lease and sqllease, which name Go functions, and errors of Cobra about flags.
var replacements = []struct {
	pattern  *regexp.Regexp
	template string
}{
	{regexp.MustCompile(`types: (?:ID\.)?(?:Parse|Unmarshal)\w+\(("(?:[^"\\]|\\.)*")\): `), "$1 is not an ID: "},
	{regexp.MustCompile(`\blease: WithWindow\b`), "--window: $0"},
	{regexp.MustCompile(`\blease: WithDatacenter\b`), "--datacenter: $0"},
	{regexp.MustCompile(`\blease: WithWorker\b`), "--worker: $0"},
	{regexp.MustCompile(`sqllease\.DDL\("(\w+)"\) returns`), `"gormflake workers ddl --dialect $1" prints`},
	{regexp.MustCompile(`^if any flags in the group \[[^]]*\] are set none of the others can be; \[([^]]*)\] were all set$`), "flags [$1], or their variables, exclude each other: want one of them"},
	{regexp.MustCompile(`^required flag\(s\) "(\w+)" not set$`), "flag --$1 is missing"},
}

// Words returns the text of an error with flags and commands in place of Go functions.
func Words(text string) string {
	for _, r := range replacements {
		text = r.pattern.ReplaceAllString(text, r.template)
	}
	return text
}
