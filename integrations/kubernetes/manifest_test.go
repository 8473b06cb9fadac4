// Package kubernetes_test reads the manifests of the repository as Kubernetes does with
// --validate=strict.
package kubernetes_test

import (
	"os"
	"path/filepath"
	"slices"
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

// TestPodsAreRestricted checks that the Pods of the command pass the Pod Security policy
// restricted, that each requests CPU and memory, and that the Pods of applications and of
// the service ask the scheduler to spread them over nodes.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	for file, podOf := range map[string]func(t *testing.T, document string) corev1.PodSpec{
		"../../cmd/gormflake/kubernetes.yaml": func(t *testing.T, text string) corev1.PodSpec {
			return object[appsv1.Deployment](t, text).Spec.Template.Spec
		},
		"../../examples/kubernetes/deployment.yaml": func(t *testing.T, text string) corev1.PodSpec {
			return object[appsv1.Deployment](t, text).Spec.Template.Spec
		},
		"../../examples/kubernetes/statefulset.yaml": func(t *testing.T, text string) corev1.PodSpec {
			return object[appsv1.StatefulSet](t, text).Spec.Template.Spec
		},
		"../../examples/kubernetes/widen.yaml": func(t *testing.T, text string) corev1.PodSpec { return object[batchv1.Job](t, text).Spec.Template.Spec },
		"../../examples/kubernetes/doctor.yaml": func(t *testing.T, text string) corev1.PodSpec {
			return object[batchv1.CronJob](t, text).Spec.JobTemplate.Spec.Template.Spec
		},
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			document, _, _ := strings.Cut(read(t, file), "\n---\n")
			pod := podOf(t, document)
			for _, wrong := range mistakes(pod) {
				t.Error(wrong)
			}
			spread := len(pod.TopologySpreadConstraints) > 0
			if replicated := pod.RestartPolicy == ""; spread != replicated {
				t.Errorf("the Pods ask to be spread over nodes: %t, want %t", spread, replicated)
			}
		})
	}
}

// object returns the Kubernetes object of a document.
func object[T any](t *testing.T, document string) (o T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// mistakes lists what in a Pod contradicts the main rules of the policy "restricted" at
// https://kubernetes.io/docs/concepts/security/pod-security-standards, and the containers that
// do not request CPU and memory. Two rules are stricter here than in the policy, because no
// manifest needs more: the seccomp profile is RuntimeDefault, and no capability is added.
func mistakes(pod corev1.PodSpec) (all []string) {
	check := func(ok bool, mistake string) {
		if !ok {
			all = append(all, mistake)
		}
	}
	security := pod.SecurityContext
	if security == nil {
		return []string{"the Pod has no securityContext"}
	}
	check(security.RunAsNonRoot != nil && *security.RunAsNonRoot, "runAsNonRoot is not set")
	check(security.SeccompProfile != nil && security.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "seccompProfile is not RuntimeDefault")
	check(!pod.HostNetwork && !pod.HostPID && !pod.HostIPC, "the Pod uses the host's network, processes or IPC")
	for _, volume := range pod.Volumes {
		check(volume.HostPath == nil, "volume "+volume.Name+" is a hostPath")
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		check(len(container.Resources.Requests) == 2, container.Name+" does not request CPU and memory")
		c := container.SecurityContext
		if c == nil {
			all = append(all, container.Name+" has no securityContext")
			continue
		}
		check(c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation, container.Name+" may escalate its privileges")
		check(c.Capabilities != nil && slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(c.Capabilities.Add) == 0, container.Name+" does not drop all capabilities")
	}
	return all
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
