package sqlmigrate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stampForm is that of a version.
const stampForm = "20060102150405"

var (
	versioned = regexp.MustCompile(`^(\d+)_(.*)\.sql$`)
	half      = regexp.MustCompile(`\.(up|down)\.sql$`)
)

// A folder is what is in the directory of migrations.
type folder struct {
	dir   string
	names []string // of migrations
}

func readFolder(dir string, format Format) (*folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: %w", err)
	}
	f := &folder{dir: dir}
	for _, entry := range entries {
		name := entry.Name()
		if !versioned.MatchString(name) {
			continue
		}
		if half.MatchString(name) != (format == GolangMigrate) {
			return nil, fmt.Errorf("sqlmigrate: %s is no file of %s, and the tools do not share a directory: write to another one", filepath.Join(dir, name), format)
		}
		f.names = append(f.names, name)
	}
	return f, nil
}

// next is the first version: the tools leave out files that are older than what
// has been run.
func (f *folder) next(now time.Time) (time.Time, error) {
	next := now.Truncate(time.Second)
	for _, name := range f.names {
		version, err := strconv.ParseUint(versioned.FindStringSubmatch(name)[1], 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("sqlmigrate: version of %s: %w", filepath.Join(f.dir, name), err)
		}
		if first, _ := strconv.ParseUint(next.Format(stampForm), 10, 64); version < first {
			continue
		}
		stamp, err := time.Parse(stampForm, strconv.FormatUint(version, 10))
		if err != nil {
			return time.Time{}, fmt.Errorf("sqlmigrate: %s has a version that is above every timestamp: nothing can be written after it", filepath.Join(f.dir, name))
		}
		next = stamp.Add(time.Second)
	}
	return next, nil
}

// has is an error if the migration is there under another version. One of the
// same name for other tables is none.
func (f *folder) has(m migration, format Format) error {
	for _, name := range f.names {
		base, _, _ := strings.Cut(name, ".")
		if !strings.HasSuffix(base, "_"+m.name) {
			continue
		}
		same := m.files(base, format)[0]
		path := filepath.Join(f.dir, same.name)
		if text, err := os.ReadFile(path); err == nil && string(text) == same.text {
			return fmt.Errorf("sqlmigrate: %s is this migration already: remove it, or write to another directory", path)
		}
	}
	return nil
}
