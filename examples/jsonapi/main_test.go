package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestRun checks that clients get keys as strings, can send them back as strings or numbers,
// and cannot choose the key of a message.
func TestRun(t *testing.T) {
	t.Parallel()
	base := start(t)

	first := post(t, base, `{"text":"hello","id":"5"}`)
	key := regexp.MustCompile(`^{"id":"(\d{18,19})","reply_to":null,"text":"hello"}\n$`).FindStringSubmatch(first)
	if key == nil {
		t.Fatalf("created %q, want a message whose key is ours and a string", first)
	}
	id := key[1]
	if got := get(t, base+"/"+id, http.StatusOK); got != first {
		t.Errorf("GET of the key = %q, want %q", got, first)
	}
	second := post(t, base, `{"text":"a string","reply_to":"`+id+`"}`)
	third := post(t, base, `{"text":"a number","reply_to":`+id+`}`)
	for _, reply := range []string{second, third} {
		if want := `"reply_to":"` + id + `"`; !strings.Contains(reply, want) {
			t.Errorf("created %q, want %s", reply, want)
		}
	}
	wantPage(t, base, third, second, first)
	wantPage(t, base+"?before="+keyOf(t, third), second, first)
	wantPage(t, base+"?before="+id)
	get(t, base+"/1", http.StatusNotFound)
	get(t, base+"/id=id", http.StatusBadRequest)
	get(t, base+"?before=-1", http.StatusBadRequest)
	request(t, http.MethodPost, base, `{"text":"no key","reply_to":1.5}`, http.StatusBadRequest)
}

// wantPage checks that the page has these messages in this order.
func wantPage(t *testing.T, url string, want ...string) {
	t.Helper()
	var page []json.RawMessage
	if err := json.Unmarshal([]byte(get(t, url, http.StatusOK)), &page); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if got, want := fmt.Sprintf("%s", page), fmt.Sprint(want); got != want {
		t.Errorf("%s = %s, want %s", url, got, want)
	}
}

// keyOf returns the key in the JSON of a message.
func keyOf(t *testing.T, message string) string {
	t.Helper()
	key := regexp.MustCompile(`"id":"(\d+)"`).FindStringSubmatch(message)
	if key == nil {
		t.Fatalf("no key in %s", message)
	}
	return key[1]
}

// start runs the program until t ends and returns the URL that it prints.
func start(t *testing.T) string {
	t.Helper()
	out, in := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, in, "127.0.0.1:0")
		in.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal("no URL printed: ", err)
		}
		if url := regexp.MustCompile(`http://\S+/messages`).FindString(line); url != "" {
			go func() { _, _ = lines.WriteTo(io.Discard) }()
			return url
		}
	}
}

// post creates a message, and returns the body of the response.
func post(t *testing.T, url, body string) string {
	t.Helper()
	return request(t, http.MethodPost, url, body, http.StatusCreated)
}

// get sends a GET, checks the status of the response, and returns its body.
func get(t *testing.T, url string, status int) string {
	t.Helper()
	return request(t, http.MethodGet, url, "", status)
}

// request sends a request, checks the status of the response, and returns its body.
func request(t *testing.T, method, url, body string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Errorf("%s %s = %d %q, want %d", method, url, resp.StatusCode, text, status)
	}
	return string(text)
}
