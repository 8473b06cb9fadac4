package remote

import (
	"regexp"

	"github.com/gormflake/gormflake/internal/option"
)

// DefaultNamespace is the namespace of a store without WithNamespace.
const DefaultNamespace = "default"

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckNamespace accepts what can be in a key or a path of every server. The
// error has prefix, the name of the store's package.
func CheckNamespace(prefix, name string) error {
	return option.Check(validNamespace.MatchString(name), "%s: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens and underscores, "+
		"the first a letter or digit", prefix, name)
}
