package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base, ended := startServer(ctx, t)

	created, err := http.Post(base+"orders", "application/json", strings.NewReader(goodOrder))
	if err != nil {
		t.Fatal(err)
	}
	defer created.Body.Close()
	reopened, err := http.Get(base + strings.TrimPrefix(created.Header.Get("Location"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Body.Close()
	if created.StatusCode != http.StatusCreated || reopened.StatusCode != http.StatusOK {
		t.Errorf("status %d and %d", created.StatusCode, reopened.StatusCode)
	}
	cancel()
	wantEnd(t, ended)
}

// A request whose body is still on its way when the program is told to stop is
// answered.
func TestShutdownLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base, ended := startServer(ctx, t)

	body, send := io.Pipe()
	status := make(chan int, 1)
	go func() {
		answer, err := http.Post(base+"orders", "application/json", body)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		answer.Body.Close()
		status <- answer.StatusCode
	}()
	if _, err := io.WriteString(send, goodOrder[:20]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // until the handler has the first part
	cancel()
	time.Sleep(50 * time.Millisecond)
	if _, err := io.WriteString(send, goodOrder[20:]); err != nil {
		t.Fatal(err)
	}
	send.Close()
	if got := <-status; got != http.StatusCreated {
		t.Errorf("status %d, want 201", got)
	}
	wantEnd(t, ended)
}

// startServer runs the program and reads its address from what it prints.
func startServer(ctx context.Context, t *testing.T) (base string, ended <-chan error) {
	t.Helper()
	printed, stdout := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-serve", "127.0.0.1:0"}, stdout)
		stdout.Close()
	}()
	first, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		t.Fatal(<-done)
	}
	base = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(first)
	if base == "" {
		t.Fatalf("no address in %q", first)
	}
	return base, done
}

func wantEnd(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(shutdownTimeout + 5*time.Second):
		t.Error("still running")
	}
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"8080":           "localhost:8080",
		":8080":          "localhost:8080",
		"0.0.0.0:8080":   "0.0.0.0:8080",
		"[::]:8080":      "[::]:8080",
		"shop.test:http": "shop.test:http",
	} {
		if got := listenAddress(address); got != want {
			t.Errorf("listenAddress(%q) = %q, want %q", address, got, want)
		}
	}
}
