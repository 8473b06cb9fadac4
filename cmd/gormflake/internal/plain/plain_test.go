package plain_test

import (
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/plain"
	"github.com/gormflake/gormflake/types"
)

// Words replaces Go functions by flags and commands, and leaves a text without them as it is.
// The texts come from the libraries where possible, because a changed text would no longer
// match its replacement.
func TestWords(t *testing.T) {
	t.Parallel()
	_, decimal := types.ParseID(`a"b`)
	_, base58 := types.ParseBase58("0")
	for _, test := range []struct{ text, want string }{
		{decimal.Error(), `"a\"b" is not an ID: unexpected 'a' at offset 0: want decimal digits only`},
		{"file x: " + decimal.Error(), `file x: "a\"b" is not an ID: unexpected 'a' at offset 0: want decimal digits only`},
		{base58.Error(), `"0" is not an ID: unexpected '0' at offset 0: want digits of base 58 only`},
		{`the statement that sqllease.DDL("mysql") returns`, `the statement that "gormflake workers ddl --dialect mysql" prints`},
		{`required flag(s) "to" not set`, "flag --to is missing"},
		{"if any flags in the group [json table] are set none of the others can be; [json table] were all set", "flags [json table], or their variables, exclude each other: want one of them"},
		{"lease: no free worker", "lease: no free worker"},
	} {
		if got := plain.Words(test.text); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
