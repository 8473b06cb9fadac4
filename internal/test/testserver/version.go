package testserver

import (
	"os/exec"
	"regexp"
	"testing"
)

// versionNumber matches a version, such as 7.0.15.
var versionNumber = regexp.MustCompile(`\d+(?:\.\d+)+`)

// Versions returns the versions of all servers except the databases, by the servers'
// titles. It leaves out servers that are not installed, or fails t if
// GORMFLAKE_TEST_REQUIRE names them.
func Versions(t testing.TB) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, e := range engines {
		if e.version == nil {
			continue
		}
		program, err := e.locate()
		if err == nil {
			versions[e.title] = versionOf(t, exec.CommandContext(t.Context(), program, e.version...))
		} else if Required(e.service) {
			t.Errorf("testserver: no %s: %v", e.title, err)
		}
	}
	return versions
}

// versionOf returns the version in the output of the command.
func versionOf(t testing.TB, command *exec.Cmd) string {
	t.Helper()
	out, err := command.Output()
	version := versionNumber.FindString(string(out))
	if version == "" {
		t.Errorf("testserver: %s: no version in %q, %v", command, out, err)
	}
	return version
}
