package ids_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

// secretFile writes a secret to a file. It returns the path of the file, and the kind of
// package publicid that encodes IDs with this secret and the prefix ord. fill is the value of
// each byte of the secret.
func secretFile(t *testing.T, fill byte) (string, publicid.Kind[types.ID]) {
	t.Helper()
	secret := bytes.Repeat([]byte{fill}, publicid.SecretSize)
	codec, err := publicid.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := publicid.For[types.ID](codec, "ord")
	if err != nil {
		t.Fatal(err)
	}
	return file(t, secret), kind
}

// file writes the content to a new file, and returns its path.
func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// parse decodes public IDs of the present and of a retired secret. An ID that is not public
// may be among the arguments.
func TestParsePublic(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t)
	currentFile, currentKind := secretFile(t, 1)
	retiredFile, retiredKind := secretFile(t, 2)
	for _, text := range []string{currentKind.Format(id), retiredKind.Format(id)} {
		got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--secret-file", currentFile, "--secret-file", retiredFile, text))
		if want := "id          " + id.String() + "\nread as     public\nprefix      ord\ntime        2026-11-21T11:00:00.000Z\n"; !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
		}
	}
	got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--secret-file", currentFile, "--json", currentKind.Format(id), id.String()))
	want := `{"input":"` + currentKind.Format(id) + `","form":"public","prefix":"ord","id":"` + id.String() + `",`
	if lines := clitest.Lines(got); len(lines) != 2 || !strings.HasPrefix(lines[0], want) || strings.Contains(lines[1], "prefix") {
		t.Errorf("got\n%s\nwant a line that begins with\n%s\nand one of the ID", got, want)
	}
}

// A public ID is an error without its secret, or if its prefix or a digit was changed. So
// is a file that is not a secret of 32 bytes.
func TestParsePublicMistakes(t *testing.T) {
	t.Parallel()
	currentFile, kind := secretFile(t, 1)
	_, foreignKind := secretFile(t, 2)
	publicID := kind.Format(clitest.Sample(t))
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no secret", []string{publicID}, `has the form of a public ID: want --secret-file`},
		{"of another secret", []string{"--secret-file", currentFile, foreignKind.Format(1)}, `is not a public ID of this secret`},
		{"of another prefix", []string{"--secret-file", currentFile, "inv" + publicID[3:]}, `is not a public ID of this secret`},
		{"truncated", []string{"--secret-file", currentFile, publicID[:20]}, `is not an ID: want decimal`},
		{"a line end", []string{"--secret-file", file(t, bytes.Repeat([]byte{1}, 33)), publicID}, `secret of 33 bytes: want 32 random ones`},
		{"empty", []string{"--secret-file", file(t, nil), publicID}, `secret of 0 bytes`},
		{"text", []string{"--secret-file", currentFile}, "--secret-file is for public IDs among the arguments, and text is read: want IDs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.WantUsage(t, clitest.AtNoon(strings.NewReader(""), append([]string{"parse"}, test.args...)...), test.want)
		})
	}
	clitest.WantOneLine(t, clitest.AtNoon(nil, "parse", "--secret-file", filepath.Join(t.TempDir(), "missing"), publicID), "--secret-file: open")
}
