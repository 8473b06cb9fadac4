package publicid_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestNode checks that the format in the package comment is sufficient for another language.
// It runs an implementation in JavaScript, written from that comment, on the vectors.
func TestNode(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, v := range vectors {
		want += fmt.Sprintln(v.Text, v.ID)
	}
	command := exec.CommandContext(t.Context(), node, "testdata/publicid.mjs")
	command.Stdin, command.Stderr = bytes.NewReader(text), os.Stderr
	if got, err := command.Output(); string(got) != want || err != nil {
		t.Errorf("%s: %v\n%swant\n%s", command, err, got, want)
	}
}
