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

// loopDevice is the name by which GORMFLAKE_TEST_REQUIRE wants disks that lose power.
const loopDevice = "loopdevice"

// diskSize is the most that a server may write.
const diskSize = 512 << 20

// A Disk is a file system in a file. What has reached the file is what a real disk
// has after the power failed: the rest is in the memory of the machine.
type Disk struct {
	dir, image string
}

// NewDisk mounts an empty disk on a folder until the test ends. It needs Linux and
// root: elsewhere the test is skipped, or fails if GORMFLAKE_TEST_REQUIRE names
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

// OnDisk starts a server of a service, as GORMFLAKE_TEST_REQUIRE calls it, whose
// files are on a disk of its own. Change, if it is not nil, changes the engine.
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
	if err := disk.Sync(); err != nil {
		t.Fatal(err)
	}
	return s, disk
}

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

// newDisk keeps the image in memory where it can: what the server waits for is that
// its writes leave the file system, not how long a disk takes.
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
	d := &Disk{dir, filepath.Join(folder, "image")}
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

// mount lets a minute pass before the file system writes anything of its own accord.
func (d *Disk) mount() error { return run("mount", "-o", "loop,noatime,commit=60", d.image, d.dir) }

// unmount is lazy: the server may still run.
func (d *Disk) unmount() error { return run("umount", "--lazy", d.dir) }

// Sync flushes everything.
func (d *Disk) Sync() error { return run("sync", "--file-system", d.dir) }

// Copy copies what has reached the disk. Nobody may write meanwhile: the server is
// to be paused.
func (d *Disk) Copy() error { return run("cp", "--sparse=always", d.image, d.copied()) }

// CopyFrozen stops this process, with whatever it is writing, copies the disk, and
// lets the process continue.
func (d *Disk) CopyFrozen() error {
	const script = `trap 'kill -CONT "$1"' EXIT; kill -STOP "$1" && sleep 0.05 && cp --sparse=always "$2" "$3"`
	return run("sh", "-c", script, "sh", strconv.Itoa(os.Getpid()), d.image, d.copied())
}

// Revert puts the copy in the place of the disk, as after a loss of power at the
// moment of the copy. Nobody may use the disk any more.
func (d *Disk) Revert() error {
	return errors.Join(d.unmount(), os.Rename(d.copied(), d.image), d.mount())
}

func (d *Disk) copied() string { return d.image + ".copy" }

func run(program string, args ...string) error {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("testserver: %s: %w: %s", program, err, out)
	}
	return nil
}
