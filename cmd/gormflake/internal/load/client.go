package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// A Target is a service, and what is asked of it.
type Target struct {
	// URL is where the service is, such as http://127.0.0.1:8080.
	URL string

	// Token is the bearer token that it wants, if any.
	Token string

	// Count is how many IDs a request asks for.
	Count int
}

// A client is one connection. It is leaner than an http.Client, since it shares
// the machine with what it measures.
type client struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
	body    bytes.Buffer
	count   int
}

func (t Target) connect(ctx context.Context) (*client, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	request := "GET /v1/ids?count=" + strconv.Itoa(t.Count) + " HTTP/1.1\r\nHost: " + u.Host + "\r\n"
	if t.Token != "" {
		request += "Authorization: Bearer " + t.Token + "\r\n"
	}
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), request: []byte(request + "\r\n"), count: t.Count}, nil
}

// ask sends the request and counts the IDs of the answer: one between each pair
// of quotes, but for the name of the list.
func (c *client) ask() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	c.body.Reset()
	_, err = io.Copy(&c.body, response.Body)
	if err != nil {
		return err
	}
	if got := bytes.Count(c.body.Bytes(), []byte{'"'})/2 - 1; response.StatusCode != http.StatusOK || got != c.count {
		return fmt.Errorf("load: status %d with %d IDs, want 200 with %d: %.200s", response.StatusCode, got, c.count, c.body.Bytes())
	}
	return nil
}
