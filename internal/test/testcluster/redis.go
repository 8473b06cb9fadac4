package testcluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

func portOf(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

// infoOf returns a function that returns a field of a Redis server's replication info.
func infoOf(s *testserver.Server) func(field string) string {
	reply, _ := askRedis(s, "INFO replication")
	return func(field string) string {
		_, value, _ := strings.Cut(reply, "\n"+field+":")
		value, _, _ = strings.Cut(value, "\r")
		return value
	}
}

func roleOf(s *testserver.Server) string { return infoOf(s)("role") }

// readyRedis returns an error unless the leader has a replica that is in sync.
func (c *electingCluster) readyRedis() error {
	leader := c.leader()
	if leader == nil {
		return testserver.ErrNotReady
	}
	if replicas, _ := askRedis(leader, "INFO replication"); !strings.Contains(replicas, "state=online") {
		return fmt.Errorf("no replica in step: %q", replicas)
	}
	return nil
}

// checkRole returns an error unless the server has the role that it should have. If leads
// is true, it must be the master of this number of replicas. Otherwise it must be a
// replica in sync of the master on the port leader.
func checkRole(s *testserver.Server, leads bool, leader string, replicas int) error {
	info := infoOf(s)
	role, link, port, slaves := info("role"), info("master_link_status"), info("master_port"), info("connected_slaves")
	if leads && role == "master" && slaves == strconv.Itoa(replicas) {
		return nil
	}
	if !leads && role == "slave" && link == "up" && port == leader {
		return nil
	}
	return fmt.Errorf("role %q, link %q to port %q, %q replicas; the leader's port is %q", role, link, port, slaves, leader)
}

// askRedis sends a command, and returns the reply. The elements of an array are lines.
func askRedis(s *testserver.Server, command string) (string, error) {
	reply, err := ask(s.Address(), command+"\r\n", func(r io.Reader) (string, error) { return readRedis(bufio.NewReader(r)) })
	if err != nil {
		return "", fmt.Errorf("testcluster: %s: %w", command, err)
	}
	return reply, nil
}

// readRedis reads a reply. Its first character is the kind, - for an error, $ for a text
// after its length, and * for an array after its size. Other kinds are a line.
func readRedis(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSpace(line[1:])
	size, _ := strconv.Atoi(rest)
	switch {
	case kind == '-':
		return "", errors.New(rest)
	case kind == '$' && size >= 0:
		text := make([]byte, size+len("\r\n"))
		_, err := io.ReadFull(r, text)
		return string(text[:size]), err
	case kind == '*':
		elements := make([]string, max(size, 0))
		for i := range elements {
			if elements[i], err = readRedis(r); err != nil {
				return "", err
			}
		}
		return strings.Join(elements, "\n"), nil
	}
	return rest, nil
}
