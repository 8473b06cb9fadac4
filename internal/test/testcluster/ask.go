package testcluster

import (
	"io"
	"net"
	"strconv"
	"time"
)

// askTimeout limits a question to a server. A server that does not answer in time counts
// as lost.
const askTimeout = time.Second

// ask connects to the address, sends a question, and reads the answer.
func ask[T any](address, question string, read func(io.Reader) (T, error)) (answer T, err error) {
	conn, err := net.DialTimeout("tcp", address, askTimeout)
	if err != nil {
		return answer, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return answer, err
	}
	if _, err := io.WriteString(conn, question); err != nil {
		return answer, err
	}
	return read(conn)
}

// address returns the address of a port of this machine, host:port.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
