package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each rule has a package of its name in testdata, whose comments state the expected reports.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), rule, "./"+rule.Name)
		})
	}
}
