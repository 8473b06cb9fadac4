package main

import (
	"bytes"
	"regexp"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestRun checks that an upsert of an existing product returns the key of its row, on each
// database.
func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		db, err := openMemory()
		if err != nil {
			t.Fatal(err)
		}
		check(t, db)
	})
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) { check(t, testdb.Open(t, target)) })
	}
}

// productLine matches a product of the output, with its SKU, name and key. A row of the
// table also has the number of its offers.
var productLine = regexp.MustCompile(`(?m)^  (\S+)  (.{10})  key (\d+)(?:  offers (\d))?$`)

// check runs the program on a database, and compares the keys that it prints.
func check(t *testing.T, db *gorm.DB) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), &out, db); err != nil {
		t.Fatal(err)
	}
	lines := productLine.FindAllStringSubmatch(out.String(), -1)
	if len(lines) != 7 {
		t.Fatalf("%d products in the output, want 2 of each feed and 3 of the table:\n%s", len(lines), &out)
	}
	// The lines are A-1 and B-2 of Monday, B-2 and C-3 of Tuesday, and the three rows of
	// the table.
	inserted, upserted, row := lines[1], lines[2], lines[5]
	if row[1] != "B-2" || row[2] != "big bucket" || row[4] != "2" {
		t.Errorf("row of the upsert = %q, want B-2, renamed, with an offer of each feed", row[0])
	}
	if inserted[3] != row[3] || upserted[3] != row[3] {
		t.Errorf("keys of B-2: %s inserted, %s upserted, %s in the table, want them equal",
			inserted[3], upserted[3], row[3])
	}
	if crate := lines[6]; crate[3] != lines[3][3] || crate[4] != "2" {
		t.Errorf("row of the new product = %q, want key %s and 2 offers", crate[0], lines[3][3])
	}
}
