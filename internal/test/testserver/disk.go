package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// loopDevice is the name for disks that lose power in GORMFLAKE_TEST_REQUIRE.
const loopDevice = "loopdevice"

// diskSize is the maximum size of the data that a server may write.
const diskSize = 512 << 20

// Disk is a file system in a file. The file contains the data that a real disk would have
// after a power failure. Data that is only in the machine's memory is lost.
type Disk struct {
	dir, image string
}

// NewDisk mounts an empty disk on a folder until the test ends. It needs Linux and root.
// On other systems the test is skipped, or fails if GORMFLAKE_TEST_REQUIRE names
// loopdevice.
func NewDisk(t testing.TB, dir string) *Disk {
	t.Helper()
	needLoopDevice(t)
	d, err := newDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// OnDisk starts a server whose files are on a separate disk. service is its name in
// GORMFLAKE_TEST_REQUIRE. change, if it is not nil, changes the engine.
func OnDisk(t testing.TB, service string, change func(*Engine), settings ...string) (*Server, *Disk) {
	t.Helper()
	e := EngineOf(service)
	if change != nil {
		change(&e)
	}
	needLoopDevice(t)
	var disk *Disk
	setUp := e.SetUp
	e.SetUp = func(s *Server) (err error) {
		if disk, err = newDisk(t, s.dir); err != nil {
			return err
		}
		return setUp(s)
	}
	s := start(t, &e, settings)
	if err := disk.Sync(); err != nil { // a power failure must not lose the files of the set-up
		t.Fatal(err)
	}
	return s, disk
}

// needLoopDevice skips t, or fails it, if this process cannot mount a file as a disk.
func needLoopDevice(t testing.TB) {
	t.Helper()
	CheckRequired(t)
	err := errors.New("want Linux and root")
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		err = run("losetup", "--find")
	}
	switch {
	case err == nil:
	case Required(loopDevice):
		t.Fatalf("testserver: no loop devices: %v (%s names %s)", err, requireVariable, loopDevice)
	default:
		t.Skipf("testserver: no loop devices, on which disks lose power: %v", err)
	}
}

// newDisk mounts an empty disk on the folder dir until the test ends. The file of the disk is in
// memory if the system has /dev/shm, because a test checks whether a server waits for its writes,
// and not how long the writes of a real disk take.
func newDisk(t testing.TB, dir string) (*Disk, error) {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	folder, err := os.MkdirTemp(parent, "gormflake-disk-") //nolint:usetesting // t.TempDir may be on a disk
	if err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	d := &Disk{dir: dir, image: filepath.Join(folder, "image")}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	if err := os.Truncate(d.image, diskSize); err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	if err := run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", d.image); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := d.unmount(); err != nil {
			t.Error(err)
		}
	})
	return d, nil
}

// mount uses a commit interval of a minute, in which the file system writes no data
// unless a program flushes it.
func (d *Disk) mount() error { return run("mount", "-o", "loop,noatime,commit=60", d.image, d.dir) }

// unmount is lazy, because the server may still run.
func (d *Disk) unmount() error { return run("umount", "--lazy", d.dir) }

// Sync writes all data to the disk.
func (d *Disk) Sync() error { return run("sync", "--file-system", d.dir) }

// Copy copies the data that has reached the disk. No process may write to the disk during
// the call, so the caller pauses the server.
func (d *Disk) Copy() error { return run("cp", "--sparse=always", d.image, d.copyPath()) }

// CopyFrozen copies the disk while this process is stopped, so that the process cannot write
// during the copy. It stops the process, waits for 50 ms, copies the disk, and lets the process
// continue. A shell does this, because a stopped process cannot.
func (d *Disk) CopyFrozen() error {
	const script = `trap 'kill -CONT "$1"' EXIT; kill -STOP "$1" && sleep 0.05 && cp --sparse=always "$2" "$3"`
	return run("sh", "-c", script, "sh", strconv.Itoa(os.Getpid()), d.image, d.copyPath())
}

// Revert replaces the disk by the copy, as if the power had failed when the copy was
// made. No process may use the disk any more.
func (d *Disk) Revert() error {
	return errors.Join(d.unmount(), os.Rename(d.copyPath(), d.image), d.mount())
}

// copyPath returns the path of the copy.
func (d *Disk) copyPath() string { return d.image + ".copy" }

// run runs a program of the system, and returns its output in the error.
func run(program string, args ...string) error {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("testserver: %s: %w: %s", program, err, out)
	}
	return nil
}
