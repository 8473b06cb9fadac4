package service

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Validate returns all mistakes in the configuration in one error, or nil. [New] calls it.
func (c *Config) Validate() error {
	errs := []error{c.Layout.Validate(), checkToken(c.Token)}
	if c.Generator != nil && !c.Layout.Equal(c.Generator.Layout()) {
		errs = append(errs, fmt.Errorf("service: layout %v is not the generator's, %v", c.Layout, c.Generator.Layout()))
	}
	if c.MaxCount < 1 || c.MaxCount > HighestMaxCount {
		errs = append(errs, fmt.Errorf("service: limit of %d IDs for a request: want 1 to %d", c.MaxCount, HighestMaxCount))
	}
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("service: timeout %v: want more than zero", c.Timeout))
	}
	// Answers get one of the equal shares of MaxMemory. Half of it is for large blocks, and the
	// largest block must fit in that half.
	if c.MaxMemory < LowestMaxMemory {
		errs = append(errs, fmt.Errorf("service: memory of %d bytes: want at least %d", c.MaxMemory, LowestMaxMemory))
	} else if want := 2 * shares * blockSize(c.MaxCount); want > c.MaxMemory {
		errs = append(errs, fmt.Errorf("service: memory of %d bytes: want at least %d for requests of %d IDs", c.MaxMemory, want, c.MaxCount))
	}
	for _, origin := range c.Origins {
		errs = append(errs, checkOrigin(origin))
	}
	return errors.Join(errs...)
}

// shortestToken is the least number of characters of a token, so that it cannot be guessed.
const shortestToken = 16

// checkToken rejects a token that is short enough to be guessed, or that a client cannot send
// in a header. An empty token is valid, because the service then requires no token.
func checkToken(token string) error {
	if token != "" && len(token) < shortestToken {
		return fmt.Errorf("service: a token of %d characters: want at least %d, at random", len(token), shortestToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("service: the token has a blank or a character outside ASCII: want letters, digits and -._~+/=")
	}
	return nil
}

// checkOrigin rejects an origin that no browser would send, such as https://App.example.com/,
// with its capital and its slash. shareWith compares origins with the header Origin as texts,
// so this one would never match.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	isOrigin := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		origin == u.Scheme+"://"+strings.ToLower(u.Host)
	if origin == "*" || isOrigin {
		return nil
	}
	return fmt.Errorf("service: origin %q: want one such as https://app.example.com, in lower case and without a path, or *", origin)
}
