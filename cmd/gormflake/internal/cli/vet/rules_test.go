package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// The packages in testdata are named after the rules, and say what is reported where.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), rule, "./"+rule.Name)
		})
	}
}
