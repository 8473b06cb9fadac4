package flags

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A referencesFile is the content of the TOML file of --references. Its keys are the names
// of the flags that it replaces.
type referencesFile struct {
	Reference    []string `toml:"reference"`
	NotReference []string `toml:"not-reference"`
}

// readReferences reads the file of --references.
func readReferences(path string) (referencesFile, error) {
	var file referencesFile
	read, err := toml.DecodeFile(path, &file)
	if err != nil {
		return file, terminal.Usagef("--references %s: %w", path, err)
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return file, terminal.Usagef("--references %s: unknown key %q: want reference and not-reference, each a list of texts", path, unknown[0])
	}
	return file, nil
}

// Write writes a file for --references. It lists the references that the flags and the
// file of --references name. The columns of likely follow as comments, of which a person
// keeps one line for each column: a line of the first list if it holds keys, or a line of
// the second list if it does not. Write replaces a file only if it is the file of
// --references, because another one may have been edited by hand.
func (f *References) Write(path string, likely []sqlmigrate.LikelyReference) error {
	if _, err := os.Stat(path); path != f.file && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--write-references: %s exists already: give it with --references %[1]s too, so that its lines are kept", path)
	}
	known, err := f.all()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString("# Which columns hold keys without a constraint, for --references of gormflake's commands.\n")
	writeList(&text, "reference", known.Reference, likely, func(l sqlmigrate.LikelyReference) string {
		return l.Column + "=" + firstKey(l)
	})
	writeList(&text, "not-reference", known.NotReference, likely, func(l sqlmigrate.LikelyReference) string { return l.Column })
	return writeWhole(path, text.Bytes())
}

// firstKey returns the most likely key of a column, or a text to be replaced by hand.
func firstKey(l sqlmigrate.LikelyReference) string {
	if len(l.Keys) == 0 {
		return "TABLE.KEY"
	}
	return l.Keys[0]
}

// writeList writes the list reference or not-reference of the file: the known lines, and a
// comment for each likely column. The comment has the entry of the column, and ends with
// the reason, the other keys that it may hold, and how to make the column wide if a plan
// cannot.
func writeList(text *bytes.Buffer, name string, known []string, likely []sqlmigrate.LikelyReference, entry func(sqlmigrate.LikelyReference) string) {
	fmt.Fprintf(text, "\n%s = [\n", name)
	for _, line := range known {
		fmt.Fprintf(text, "  %s,\n", quoted(line))
	}
	for _, l := range likely {
		reason := "by " + l.Reason
		if len(l.Keys) > 1 {
			reason += "; or " + strings.Join(l.Keys[1:], ", ")
		}
		if l.Change != "" {
			reason += "; " + l.Change
		}
		fmt.Fprintf(text, "  # %s, # %s\n", quoted(entry(l)), terminal.OneLine(errors.New(reason)))
	}
	text.WriteString("]\n")
}

// quoted returns a text as TOML writes it.
func quoted(text string) string {
	var b bytes.Buffer
	_ = toml.NewEncoder(&b).Encode(map[string]string{"x": text}) // A Buffer does not fail.
	return strings.TrimSpace(strings.TrimPrefix(b.String(), "x = "))
}

// writeWhole replaces a file at once, so that an interrupted command leaves the former
// content.
func writeWhole(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // It fails after the file was renamed.
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// all returns the references of the flags and of the file, without duplicates.
func (f *References) all() (referencesFile, error) {
	var all referencesFile
	if f.file != "" {
		var err error
		if all, err = readReferences(f.file); err != nil {
			return all, err
		}
	}
	all.Reference = union(all.Reference, f.named)
	all.NotReference = union(all.NotReference, f.excluded)
	return all, nil
}

// union appends to a the elements of b that it does not have.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
