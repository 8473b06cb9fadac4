package docstest

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets all paths start in the root of the repository, as those in the
// pages do.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
