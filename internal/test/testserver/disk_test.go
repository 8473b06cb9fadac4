package testserver_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestDiskLosesPower checks that a disk that loses power has the flushed data and lacks the
// other data, for both methods that copy the disk.
func TestDiskLosesPower(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := testserver.NewDisk(t, dir)
	for _, test := range []struct {
		name string
		copy func() error
	}{{"paused", disk.Copy}, {"frozen", disk.CopyFrozen}} {
		flushed, written := filepath.Join(dir, test.name), filepath.Join(dir, test.name+" later")
		write(t, flushed)
		if err := disk.Sync(); err != nil {
			t.Fatal(err)
		}
		write(t, written)
		if err := errors.Join(test.copy(), disk.Revert()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(flushed); err != nil || string(text) != "text" {
			t.Errorf("%s: what was flushed is %q, %v, want it as it was", test.name, text, err)
		}
		if _, err := os.Stat(written); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: what was not flushed: %v, want it lost", test.name, err)
		}
	}
}

// write writes a file without flushing it to the disk.
func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
}
