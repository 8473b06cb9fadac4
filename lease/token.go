package lease

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxHost leaves room for the rest of a token in an owner's 128 characters.
const maxHost = 36

// releasedMark ends the owner of a record whose worker was released.
const releasedMark = "/released"

// A token identifies the holder of a [Record]. Its text is
//
//	host/process/random/writes/replaced/window[/released]
//
// The random part makes it one claim's; host and process are there for people.
// Every write of a claim and of its renewals has another count: no two of its records
// are equal, and what was read always differs from what is written next.
type token struct {
	holder   string // host/process/random
	writes   int64
	replaced int64 // the bound that the claim's first write replaced, in Unix milliseconds
	window   int64 // of the holder, in milliseconds
	released bool
}

// newToken returns the token of a new claim.
func newToken(window time.Duration) token {
	return token{
		holder: fmt.Sprintf("%s/%d/%s", hostName(), os.Getpid(), rand.Text()),
		window: window.Milliseconds(),
	}
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

// owner is the text of the token for a [Record].
func (t token) owner() string {
	owner := fmt.Sprintf("%s/%d/%d/%d", t.holder, t.writes, t.replaced, t.window)
	if t.released {
		owner += releasedMark
	}
	return owner
}

// parseToken reads what owner has written. Of any other text, as a person or
// another program may have written, it returns the holder alone.
func parseToken(owner string) (_ token, ok bool) {
	text, released := strings.CutSuffix(owner, releasedMark)
	t := token{holder: text, released: released}
	for _, number := range []*int64{&t.window, &t.replaced, &t.writes} {
		slash := strings.LastIndexByte(t.holder, '/')
		n, err := strconv.ParseInt(t.holder[slash+1:], 10, 64)
		if slash < 0 || err != nil {
			return token{holder: owner}, false
		}
		*number, t.holder = n, t.holder[:slash]
	}
	if t.owner() != owner {
		return token{holder: owner}, false
	}
	return t, true
}

// heldBy is who holds the record's worker, host/process/random, or empty where
// nobody does.
func (r Record) heldBy() string {
	if t, _ := parseToken(r.Owner); !t.released {
		return t.holder
	}
	return ""
}
