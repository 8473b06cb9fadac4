package sqlmigrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A migration is the text of one phase's files.
type migration struct{ name, up, down string }

// A file is one to be written.
type file struct{ name, text string }

func writeMigrations(dir string, format Format, migrations []migration) error {
	if format != GolangMigrate && format != Goose {
		return fmt.Errorf("sqlmigrate: unknown format %q: want %s or %s", format, GolangMigrate, Goose)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("sqlmigrate: %w", err)
	}
	present, err := readFolder(dir, format)
	if err != nil {
		return err
	}
	versions, err := present.versions(len(migrations), time.Now().UTC())
	if err != nil {
		return err
	}
	var files []file
	for i, m := range migrations {
		if err := present.has(m, format); err != nil {
			return err
		}
		files = append(files, m.files(versions[i]+"_"+m.name, format)...)
	}
	return writeAll(dir, files)
}

func (m migration) files(base string, format Format) []file {
	if format == Goose {
		return []file{{base + ".sql", "-- +goose Up\n" + ended(m.up) + "\n-- +goose Down\n" + ended(m.down)}}
	}
	return []file{{base + ".up.sql", ended(m.up)}, {base + ".down.sql", ended(m.down)}}
}

func ended(text string) string { return strings.TrimRight(text, "\n") + "\n" }

// writeAll writes all files or none.
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

// writeNew never overwrites, and leaves nothing behind if it fails.
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
