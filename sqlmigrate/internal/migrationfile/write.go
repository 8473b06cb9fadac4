// Package migrationfile writes the files of migration tools.
package migrationfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A Migration is the text of one phase's files.
type Migration struct{ Name, Up, Down string }

// A file is one to be written.
type file struct{ name, text string }

// Write writes all migrations to dir, which it creates, or none. No file is
// overwritten.
func Write(dir string, format engine.Format, migrations []Migration) error {
	if !slices.Contains(engine.Formats, format) {
		return fmt.Errorf("sqlmigrate: unknown format %q: want %s, %s or %s", format, engine.GolangMigrate, engine.Goose, engine.Atlas)
	}
	folder := dir
	if format == engine.Atlas {
		folder = filepath.Join(dir, atlasDown)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
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
		if err := present.refuse(m, format); err != nil {
			return err
		}
		files = append(files, m.files(versions[i]+"_"+m.Name, format)...)
	}
	return writeAll(dir, files)
}

// atlasDown is a folder that Atlas does not look into: it has no files for the way back.
const atlasDown = "down"

func (m Migration) files(base string, format engine.Format) []file {
	switch format {
	case engine.Goose:
		return []file{{base + ".sql", "-- +goose Up\n" + ended(m.Up) + "\n-- +goose Down\n" + ended(m.Down)}}
	case engine.Atlas:
		return []file{{base + ".sql", engine.AtlasHead + ended(m.Up)}, {filepath.Join(atlasDown, base+".sql"), engine.AtlasHead + ended(m.Down)}}
	}
	return []file{{base + ".up.sql", ended(m.Up)}, {base + ".down.sql", ended(m.Down)}}
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
