package lease

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxHost is the length to which a host name is cut. It leaves room for the rest of a token in
// an owner, which has at most 128 characters.
const maxHost = 36

// releasedMark ends the owner of a record whose worker was released.
const releasedMark = "/released"

// A token identifies the holder of a [Record]. Its text is
//
//	host/process/random/writes/replaced/window[/released]
//
// for example web-7/4711/ZQ3V…/3/1760000000000/60000. The random part belongs to one claim;
// host and process are there for people to read. Every write of a claim and of its renewals
// has another count in the part writes. So each write changes the record, even if the bound
// stays the same.
type token struct {
	holder   string // host/process/random
	writes   int64  // the writes under this token so far, including this write
	replaced int64  // the bound that the claim's first write replaced, in Unix milliseconds
	window   int64  // of the holder, in milliseconds
	released bool
}

// newToken returns the token of a new claim.
func newToken(window time.Duration) token {
	return token{
		holder: fmt.Sprintf("%s/%d/%s", hostName(), os.Getpid(), rand.Text()),
		window: window.Milliseconds(),
	}
}

// hostName returns the host's name, cut to maxHost and made printable, so that a store can
// keep it.
func hostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return printable(host[:min(len(host), maxHost)])
}

// printable replaces all characters other than printable ASCII, and blanks, by underscores,
// because a store might not keep them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r
		}
		return '_'
	}, s)
}

// owner returns the text of the token, which is the Owner of a [Record].
func (t token) owner() string {
	owner := fmt.Sprintf("%s/%d/%d/%d", t.holder, t.writes, t.replaced, t.window)
	if t.released {
		owner += releasedMark
	}
	return owner
}

// parseToken parses a text that owner has returned. Any other text, such as a name that
// a person has written, becomes the holder of the token, and ok is false.
func parseToken(owner string) (_ token, ok bool) {
	text, released := strings.CutSuffix(owner, releasedMark)
	t := token{holder: text, released: released}

	// Cut the numbers off the end, the last number first. The holder remains.
	for _, number := range []*int64{&t.window, &t.replaced, &t.writes} {
		slash := strings.LastIndexByte(t.holder, '/')
		n, err := strconv.ParseInt(t.holder[slash+1:], 10, 64)
		if slash < 0 || err != nil {
			return token{holder: owner}, false
		}
		*number, t.holder = n, t.holder[:slash]
	}
	if t.owner() != owner { // ParseInt also reads numbers that owner would not write, such as 07
		return token{holder: owner}, false
	}
	return t, true
}

// heldBy returns the holder of the record's worker, as host/process/random, or the name that a
// person has written into the record. It returns "" if the worker is released or was never
// held.
func (r Record) heldBy() string {
	if t, _ := parseToken(r.Owner); !t.released {
		return t.holder
	}
	return ""
}
