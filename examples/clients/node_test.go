package main_test

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestNodeClient checks that the client in Node.js keeps every digit in strings and BigInt,
// and shows the digits that numbers lose.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	ids, orders := newFront(t, startService(t), nil), newFront(t, startOrders(t), nil)

	status, stdout, stderr := runClient(t, node, ids.URL+"/", orders.URL)
	if status != 0 || stderr != "" || !strings.HasSuffix(stdout, "\nStrings and BigInt lost no digit.\n") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	wantRows(t, rowsOf(stdout), ids, orders)
	wantCrowd(t, stdout)
}

// TestNodeClientAndSafeLayout checks that the client finds no lost digit in IDs of the layout
// js-safe, even where it stores them as JavaScript numbers, because these IDs are below 2^53.
func TestNodeClientAndSafeLayout(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	status, stdout, stderr := runClient(t, node, startService(t, "--layout", "js-safe"), startOrders(t))
	if status != 0 || stderr != "" {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if n := strings.Count(stdout, "the same, for it is below 2^53"); n != 4 {
		t.Errorf("%d numbers kept, want 4:\n%s", n, stdout)
	}
	if want := "are 200 different strings and 200 different numbers"; !strings.Contains(stdout, want) {
		t.Errorf("want %q:\n%s", want, stdout)
	}
}

// quoted matches an ID that is a string in JSON.
var quoted = regexp.MustCompile(`"(\d{16,})"`)

// withoutQuotes sends IDs as numbers, which JavaScript rounds.
func withoutQuotes(_ *http.Request, answer string) string {
	return quoted.ReplaceAllString(answer, "$1")
}

// otherID changes the last digit of the last ID in the response to a GET of an ID.
func otherID(r *http.Request, answer string) string {
	all := quoted.FindAllStringIndex(answer, -1)
	// Other requests have a shorter path, or issue IDs.
	if strings.Count(r.URL.Path, "/") < 2 || r.URL.Path == "/v1/ids" || all == nil {
		return answer
	}
	digit := all[len(all)-1][1] - 2 // the last digit of the last ID, before the quote
	return answer[:digit] + string('0'+(answer[digit]-'0'+1)%10) + answer[digit+1:]
}

// sameIDs replaces all IDs that the service issues at once by the first.
func sameIDs(r *http.Request, answer string) string {
	if r.URL.Path != "/v1/ids" {
		return answer
	}
	return quoted.ReplaceAllString(answer, quoted.FindString(answer))
}

// TestNodeClientFindsLostDigits checks that the client notices the mistakes of a server. The
// server sends IDs as numbers, changes a digit of an ID in its answer, or issues an ID twice.
func TestNodeClientFindsLostDigits(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	service, shop := startService(t), startOrders(t)
	cases := map[string]struct {
		ids, orders fault
		want        string
	}{
		"service without quotes":     {withoutQuotes, nil, "is not in the answer"},
		"orders without quotes":      {nil, withoutQuotes, "is not in the answer"},
		"service answers another":    {otherID, nil, "as a string was sent as"},
		"line of an order changed":   {nil, otherID, "as a BigInt was sent as"},
		"service gives an ID twice":  {sameIDs, nil, "200 IDs are 1 strings"},
		"both servers answer others": {otherID, otherID, "as a string was sent as"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, orders := newFront(t, service, c.ids), newFront(t, shop, c.orders)
			status, stdout, stderr := runClient(t, node, ids.URL, orders.URL)
			if status != 1 || !strings.Contains(stderr, c.want) || strings.Contains(stdout, "no digit") {
				t.Errorf("status %d, want 1 and %q\n%s%s", status, c.want, stdout, stderr)
			}
		})
	}
}

// TestNodeClientCannotTry checks that the client explains why it could not try. In this case
// it ends with status 2, because status 1 means that a digit was lost.
func TestNodeClientCannotTry(t *testing.T) {
	t.Parallel()
	node := testserver.Program(t, "node")
	service, shop := startService(t), startOrders(t)
	mute := newFront(t, service, func(*http.Request, string) string { return "" })
	cases := map[string]struct {
		args []string
		want string
	}{
		"no argument":   {nil, "usage: node client.mjs"},
		"one argument":  {[]string{service}, "usage: node client.mjs"},
		"no address":    {[]string{"8080", shop}, "usage: node client.mjs"},
		"no server":     {[]string{service, unusedAddress(t)}, "/orders does not answer: ECONNREFUSED"},
		"wrong server":  {[]string{shop, service}, "/v1/ids?count=200 answers 404 without JSON"},
		"no JSON":       {[]string{mute.URL, shop}, "/v1/ids?count=200 answers 200 without JSON"},
		"issues no IDs": {[]string{start(t, "gormflake", "serve", "--addr", "127.0.0.1:0"), shop}, "404, this server issues no IDs"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := runClient(t, node, c.args...)
			if status != 2 || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("status %d, want 2 and %q\n%s%s", status, c.want, stdout, stderr)
			}
		})
	}
}

// runClient runs client.mjs to its end.
func runClient(t *testing.T, node string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	run := exec.CommandContext(t.Context(), node, append([]string{"client.mjs"}, args...)...)
	run.Stdout, run.Stderr = &out, &errs
	err := run.Run()
	// A status other than 0 is a result. Other errors mean that the client has not run.
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return run.ProcessState.ExitCode(), out.String(), errs.String()
}

// printedLine matches a line of the client's output, which is an ID, or a way of storing
// it with the digits that were sent and a note.
var printedLine = regexp.MustCompile(`(?m)^ {2}(?:(\d+)| {2}(\w+(?: \w+)?) +(\d+) {2}(.*))$`)

// rowsOf returns the rows in the client's output.
func rowsOf(stdout string) []row {
	var rows []row
	id := ""
	for _, m := range printedLine.FindAllStringSubmatch(stdout, -1) {
		if m[1] != "" {
			id = m[1]
			continue
		}
		rows = append(rows, row{ID: id, Way: m[2], Sent: m[3], Note: m[4]})
	}
	return rows
}
