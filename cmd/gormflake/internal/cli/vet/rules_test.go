package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each rule reports the lines of its package in testdata that have a "want" comment, and
// no other line.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), rule, "./"+rule.Name)
		})
	}
}
