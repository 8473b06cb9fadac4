package main_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// row is a row of a client's output, for an ID and a way of storing it.
type row struct{ ID, Way, Sent, Note string }

// wantRows compares the rows with the IDs that the servers saw, and with Go's conversion
// of the same number. There are two IDs of each server, with four ways each.
func wantRows(t *testing.T, rows []row, ids, orders *front) {
	t.Helper()
	if len(rows) != 2*2*4 {
		t.Fatalf("%d rows, want 16: %+v", len(rows), rows)
	}
	lost := 0
	for i, r := range rows {
		server, refusal := ids, "taken for another, "
		if i >= len(rows)/2 {
			server, refusal = orders, "404, there is no order "
		}
		if way := []string{"string", "BigInt", "Number", "JSON number"}[i%4]; r.Way != way {
			t.Errorf("row %d is of %s, want %s", i, r.Way, way)
		}
		if !server.issued(r.ID) || server.requestsFor(r.Sent) == 0 {
			t.Errorf("%+v: the server issued this ID: %v; it was asked for what was sent %d times", r, server.issued(r.ID), server.requestsFor(r.Sent))
		}
		lost += wantRow(t, r, refusal)
	}
	if lost == 0 {
		t.Error("no number lost a digit")
	}
	if ids := slices.Compact(idsOf(rows)); len(ids) != 4 {
		t.Errorf("IDs %v, want four", ids)
	}
}

// wantRow checks a row, and returns 1 if digits were lost and 0 if not. Only numbers may
// lose digits. The note of such a row must then contain the server's refusal.
func wantRow(t *testing.T, r row, refusal string) int {
	t.Helper()
	id, err := strconv.ParseInt(r.ID, 10, 64)
	if err != nil || id <= 1<<53 {
		t.Errorf("ID %q: want a number above 2^53", r.ID)
	}
	if r.Way == "string" || r.Way == "BigInt" {
		if r.Sent != r.ID || r.Note != "the same" {
			t.Errorf("%+v: want the ID to be sent, and the same to come back", r)
		}
		return 0
	}
	number := strconv.FormatFloat(float64(id), 'f', -1, 64) // as JavaScript writes it, below 1e21
	if r.Sent != number {
		t.Errorf("%+v: want %s to be sent", r, number)
	}
	if number == r.ID {
		if r.Note != "the same, by chance" {
			t.Errorf("%+v: want the same, by chance", r)
		}
		return 0
	}
	if !strings.HasPrefix(r.Note, wrongDigits(r.ID, number)+" wrong: "+refusal) {
		t.Errorf("%+v: want %s wrong: %s…", r, wrongDigits(r.ID, number), refusal)
	}
	return 1
}

// wrongDigits returns how many digits of the number differ from the ID, in words.
func wrongDigits(id, number string) string {
	n := 0
	for i := range id {
		if id[i] != number[i] {
			n++
		}
	}
	if n == 1 {
		return "1 digit"
	}
	return fmt.Sprintf("%d digits", n)
}

// idsOf returns the ID of each row.
func idsOf(rows []row) []string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}
