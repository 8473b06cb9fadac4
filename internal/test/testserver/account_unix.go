//go:build unix

package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// setAttributes makes command a child that ends with this process. It runs the command
// under the engine's account if the engine must not run as root.
func (s *Server) setAttributes(command *exec.Cmd) error {
	command.SysProcAttr = sysProcAttr()
	if s.engine.Account == "" || os.Geteuid() != 0 {
		return nil
	}
	credential, err := credentialOf(s.engine.Account)
	if err != nil {
		return fmt.Errorf("testserver: %s does not run as root: %w", s.engine.title, err)
	}
	command.SysProcAttr.Credential = credential
	for _, path := range []string{s.dir, s.logPath()} {
		if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
			return fmt.Errorf("testserver: %w", err)
		}
	}
	return nil
}

// credentialOf returns the user and group of an account, by its name.
func credentialOf(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
