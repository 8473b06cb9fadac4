package main

import (
	"crypto/aes"
	"regexp"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^[\w-]{22}\n2124442649149294496\nnot a token of this purpose\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("the program prints\n%s\nwant %s", out.String(), want)
	}
}

func TestUnsealRejects(t *testing.T) {
	t.Parallel()
	secret, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "2124442649149294496", strings.Repeat("A", 23), strings.Repeat("=", 22)} {
		if id, err := unseal(secret, "invoice", token); err == nil {
			t.Errorf("%q opens as %s, want an error", token, id)
		}
	}
}
