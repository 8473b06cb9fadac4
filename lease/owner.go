package lease

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
)

// maxHost leaves room for the rest of a token in an owner's 128 characters.
const maxHost = 64

// newOwner makes a token for one grant. The random part makes it unique; host
// and process are there for whoever reads them in a log or an error.
func newOwner() string {
	return fmt.Sprintf("%s/%d/%s", hostName(), os.Getpid(), rand.Text())
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return printable(host[:min(len(host), maxHost)])
}

// printable replaces what a store need not be able to keep.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r
		}
		return '_'
	}, s)
}
