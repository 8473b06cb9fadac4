package testserver

import (
	"io"
	"net"
	"time"
)

// askTimeout limits a question to a server. A server that does not answer in time is not
// ready.
const askTimeout = time.Second

// ask connects to the server, sends a question if it is not empty, and returns the first
// bytes of the reply. Tests use the server's protocol this way, so that this package does
// not depend on any client.
func ask(s *Server, question string, size int) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Address(), askTimeout)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return "", err
	}
	if question != "" {
		if _, err := io.WriteString(conn, question); err != nil {
			return "", err
		}
	}
	reply := make([]byte, size)
	_, err = io.ReadFull(conn, reply)
	return string(reply), err
}
