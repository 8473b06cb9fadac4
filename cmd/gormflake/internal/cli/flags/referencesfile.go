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

// A referencesFile is the content of the TOML file of --references. The name of each list is
// the flag that it replaces, and its elements are values of this flag.
type referencesFile struct {
	Reference    []string `toml:"reference"`
	NotReference []string `toml:"not-reference"`
}

// readReferences reads the file of --references. It rejects an unknown key, such as a
// misspelled not_reference, which the TOML package would ignore.
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

// Write writes a file for --references, which a person then completes:
//
//	reference = [
//	  "orders.customer_id=customers.id",
//	  # "orders.legacy_id=customers.id", # by its name
//	]
//
//	not-reference = [
//	  # "orders.legacy_id", # by its name
//	]
//
// Each list begins with the columns that the flags and the file of --references name already.
// Then each column of likely has a line in both lists, which is commented out. If the column
// holds keys, the person uncomments the line in the first list, and otherwise the line in the
// second list.
//
// Write replaces an existing file only if --references names the same path, because it then
// has read the elements of the file and writes them again. In any other file, elements could
// be lost that somebody has written by hand.
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

// firstKey returns the most likely key of a column, such as customers.id. If no key is known,
// it returns TABLE.KEY, which a person has to replace.
func firstKey(l sqlmigrate.LikelyReference) string {
	if len(l.Keys) == 0 {
		return "TABLE.KEY"
	}
	return l.Keys[0]
}

// writeList writes the list with the name, which is reference or not-reference. The elements
// of known come first. Then each likely column has a comment such as
//
//	# "orders.legacy_id=customers.id", # by its name; or users.id
//
// The comment begins with the element that entry returns for the column. The reason for which
// the column is likely to hold keys follows, and then the other keys that the column may hold.
// If no plan can widen the column, the comment ends with the way to change its type to one
// with 64 bits.
func writeList(text *bytes.Buffer, name string, known []string, likely []sqlmigrate.LikelyReference, entry func(sqlmigrate.LikelyReference) string) {
	fmt.Fprintf(text, "\n%s = [\n", name)
	for _, element := range known {
		fmt.Fprintf(text, "  %s,\n", quoted(element))
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

// quoted returns a text as a TOML string, with quotes and escapes. The TOML package encodes
// only whole documents, so quoted encodes x = "text" and cuts off the beginning.
func quoted(text string) string {
	var b bytes.Buffer
	_ = toml.NewEncoder(&b).Encode(map[string]string{"x": text}) // A Buffer does not fail.
	return strings.TrimSpace(strings.TrimPrefix(b.String(), "x = "))
}

// writeWhole writes the content to a temporary file, and then renames that file to path. If
// the command is interrupted, the file at path still has its former content.
func writeWhole(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // after Rename, this fails, because no file has the temporary name
	_, err = file.Write(content)
	// CreateTemp makes a file that only its owner can read, and other people complete this
	// file.
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// all returns the references of the flags and of the file of --references, without
// duplicates.
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

// union returns the elements of a and, behind them, the elements of b that a does not have.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
