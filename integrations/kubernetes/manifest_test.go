// Package kubernetes_test reads the manifests of the repository as Kubernetes does with
// --validate=strict.
package kubernetes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the kinds of objects in the manifests, by the version of their API and their
// name.
var kinds = map[string]func() any{
	"apps/v1 Deployment":            func() any { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet":           func() any { return new(appsv1.StatefulSet) },
	"batch/v1 Job":                  func() any { return new(batchv1.Job) },
	"batch/v1 CronJob":              func() any { return new(batchv1.CronJob) },
	"v1 Service":                    func() any { return new(corev1.Service) },
	"policy/v1 PodDisruptionBudget": func() any { return new(policyv1.PodDisruptionBudget) },
}

// TestManifests finds fields that Kubernetes does not have, and values of the wrong type.
func TestManifests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, file := range append(files, "../../cmd/gormflake/kubernetes.yaml") {
		documents = append(documents, strings.Split(read(t, file), "\n---\n")...)
	}
	for _, document := range documents {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		newObject, known := kinds[head.APIVersion+" "+head.Kind]
		if !known {
			t.Errorf("no such kind is known to this test: %+v", head)
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), newObject()); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
	}
	if len(documents) < 7 {
		t.Errorf("%d documents; want at least 7", len(documents))
	}
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
