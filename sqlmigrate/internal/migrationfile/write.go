// Package migrationfile writes the files of migration tools. Package sqlmigrate calls
// [Write] with the SQL of a plan.
package migrationfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A Migration holds the SQL that applies a migration (Up) and the SQL that takes it back
// (Down). Name, for example "snowflake_widen", becomes part of the file names.
type Migration struct{ Name, Up, Down string }

// A file is the name of a file to write, within the directory, and its text.
type file struct{ name, text string }

// Write writes all migrations to dir, which it creates if necessary. The versions of the
// new files are above the versions of all files in dir. After an error there is no new
// file. Write never overwrites a file.
func Write(dir string, format engine.Format, migrations []Migration) error {
	if !slices.Contains(engine.Formats, format) {
		return fmt.Errorf("sqlmigrate: unknown format %q: want %s, %s or %s", format, engine.GolangMigrate, engine.Goose, engine.Atlas)
	}
	deepest := dir
	if format == engine.Atlas {
		deepest = filepath.Join(dir, atlasDown)
	}
	if err := os.MkdirAll(deepest, 0o777); err != nil { // creates dir too
		return fmt.Errorf("sqlmigrate: %w", err)
	}
	existing, err := readFolder(dir, format)
	if err != nil {
		return err
	}
	versions, err := existing.versions(len(migrations), time.Now().UTC())
	if err != nil {
		return err
	}
	var files []file
	for i, m := range migrations {
		if err := existing.rejectDuplicate(m, format); err != nil {
			return err
		}
		files = append(files, m.files(versions[i]+"_"+m.Name, format)...)
	}
	return writeAll(dir, files)
}

// atlasDown is the subfolder for the files that take migrations back. Atlas has no such
// files, and does not read subfolders, so it does not run them as further migrations.
const atlasDown = "down"

// files returns the files of the migration in the format. The first file is the file that
// applies the migration. base is the name of the files without the ending, for example
// "000013_snowflake_widen".
func (m Migration) files(base string, format engine.Format) []file {
	switch format {
	case engine.Goose:
		return []file{{base + ".sql", "-- +goose Up\n" + withFinalNewline(m.Up) + "\n-- +goose Down\n" + withFinalNewline(m.Down)}}
	case engine.Atlas:
		return []file{{base + ".sql", engine.AtlasHead + withFinalNewline(m.Up)}, {filepath.Join(atlasDown, base+".sql"), engine.AtlasHead + withFinalNewline(m.Down)}}
	}
	return []file{{base + ".up.sql", withFinalNewline(m.Up)}, {base + ".down.sql", withFinalNewline(m.Down)}}
}

// withFinalNewline returns the text with exactly one newline at its end.
func withFinalNewline(text string) string { return strings.TrimRight(text, "\n") + "\n" }

// writeAll writes all files. After an error it removes the files that it has written.
func writeAll(dir string, files []file) error {
	for i, f := range files {
		if err := writeNew(filepath.Join(dir, f.name), f.text); err != nil {
			errs := []error{fmt.Errorf("sqlmigrate: no file has been written: %w", err)}
			for _, earlier := range files[:i] {
				errs = append(errs, os.Remove(filepath.Join(dir, earlier.name)))
			}
			return errors.Join(errs...)
		}
	}
	return nil
}

// writeNew creates a file with the text. It returns an error if the file exists, and
// leaves that file unchanged. If writing fails, it removes the file that it has created.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

const (
	// stampForm is the format of a timestamp as a version, for package time.
	stampForm = "20060102150405"

	// firstStamp is the smallest version that counts as a timestamp, the beginning of the
	// year 1000. Sequential numbers and Unix times are smaller.
	firstStamp = 1000_01_01_00_00_00
)

var (
	// versioned matches the name of a migration file, for example 000012_orders.up.sql, and
	// captures its version, 000012.
	versioned = regexp.MustCompile(`^(\d+)_(.*)\.sql$`)

	// oneDirection matches the name of a file for one direction only, which golang-migrate
	// uses, for example 000012_orders.up.sql. A file of goose has both directions, and the
	// name of a file of Atlas does not show its direction.
	oneDirection = regexp.MustCompile(`\.(up|down)\.sql$`)
)

// A folder describes the migration files that a directory holds already.
type folder struct {
	dir     string
	names   []string // names of the migration files
	newest  string   // the name of the file with the largest version; empty if there is none
	version uint64   // the largest version; 0 if there is none
}

// readFolder reads the names of the migration files in dir. The files of golang-migrate and
// of the other tools must not be in the same directory. Goose and Atlas would read the
// pairs of golang-migrate as files of their own, and golang-migrate would ignore the files
// of Goose and Atlas. Therefore readFolder returns an error for a file of golang-migrate if
// format is another, and for any other migration file if format is that of golang-migrate.
func readFolder(dir string, format engine.Format) (*folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: %w", err)
	}
	f := &folder{dir: dir}
	for _, entry := range entries {
		name := entry.Name()
		match := versioned.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		if oneDirection.MatchString(name) != (format == engine.GolangMigrate) {
			return nil, fmt.Errorf("sqlmigrate: %s is not a file of %s, and the tools do not share a directory: write to another one", filepath.Join(dir, name), format)
		}
		f.names = append(f.names, name)
		number, err := strconv.ParseUint(match[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("sqlmigrate: version of %s: %w", filepath.Join(dir, name), err)
		}
		if number >= f.version {
			f.newest, f.version = name, number
		}
	}
	return f, nil
}

// versions returns n versions above all versions in the folder, because the tools skip a
// file with a smaller version than the last that they have run. The versions are
// timestamps, for example 20250131120000, with a second between them. The first is now, or
// a later time if the newest file in the folder has a later timestamp.
//
// If the folder has sequential numbers, versions returns the next numbers, for example
// 000013. A timestamp would be wrong there, because a later sequential number would be
// smaller than the timestamp.
func (f *folder) versions(n int, now time.Time) ([]string, error) {
	// A sequential number gets leading zeros, so that it has at least as many digits as the
	// version of the newest file.
	next := func(i int) string { return fmt.Sprintf("%0*d", strings.Index(f.newest, "_"), f.version+1+uint64(i)) }
	if f.newest == "" || f.version >= firstStamp {
		stamp, err := f.stampAfter(now)
		if err != nil {
			return nil, err
		}
		next = func(i int) string { return stamp.Add(time.Duration(i) * time.Second).Format(stampForm) }
	}
	versions := make([]string, n)
	for i := range versions {
		versions[i] = next(i)
	}
	return versions, nil
}

// stampAfter returns now or, if the largest version in the folder is a later timestamp, the
// second after that timestamp.
func (f *folder) stampAfter(now time.Time) (time.Time, error) {
	now = now.Truncate(time.Second)
	if version, _ := strconv.ParseUint(now.Format(stampForm), 10, 64); f.version < version {
		return now, nil
	}
	stamp, err := time.Parse(stampForm, strconv.FormatUint(f.version, 10))
	if err != nil {
		return time.Time{}, fmt.Errorf("sqlmigrate: %s has a version that is above every timestamp: nothing can be written after it", filepath.Join(f.dir, f.newest))
	}
	return stamp.Add(time.Second), nil
}

// rejectDuplicate returns an error if the folder already has the same migration under
// another version. A migration with the same name and another text is for other tables,
// and not an error.
func (f *folder) rejectDuplicate(m Migration, format engine.Format) error {
	for _, name := range f.names {
		base, _, _ := strings.Cut(name, ".") // without the ending, .sql or .up.sql
		if !strings.HasSuffix(base, "_"+m.Name) {
			continue
		}
		same := m.files(base, format)[0] // the file that applies the migration
		path := filepath.Join(f.dir, same.name)
		if text, err := os.ReadFile(path); err == nil && string(text) == same.text {
			return fmt.Errorf("sqlmigrate: %s is this migration already: remove it, or write to another directory", path)
		}
	}
	return nil
}
