package docstest

import (
	"fmt"
	"os"
	"testing"
)

// TestMain changes to the root of the repository, to which all paths are relative.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
