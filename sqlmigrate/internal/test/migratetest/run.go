package migratetest

import (
	"strings"
	"testing"

	"gorm.io/gorm"
)

// Run executes the statements one by one and stops the test at the first error.
func Run(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// WantError fails the test unless err is an error whose message contains every text.
func WantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want it to say %q", err, text)
		}
	}
}
