package vet_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/vet"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// The program works both as a command, "gormflake vet", and as the tool that go vet runs
// with -vettool. With -vettool the exit code is that of go vet. The command has no finding
// in the repository's examples.
func TestVet(t *testing.T) {
	t.Parallel()
	program := clitest.Build(t)
	for _, test := range []struct {
		name, folder string
		command      []string
		code         int
		want         []string
	}{
		{"own examples", "../../../../../examples", []string{program, "vet"}, clitest.OK, nil},
		{"findings", "testdata", []string{program, "vet", "./narrow", "./jsonstring"}, clitest.Findings, []string{
			"narrow/narrow.go:9:3: float64 keeps 53 bits of an ID", "jsonstring/jsonstring.go:6:",
		}},
		{"tool of go vet", "testdata", []string{"go", "vet", "-vettool=" + program, "./..."}, clitest.Failed, []string{
			"plugin/plugin.go:", "foreignkey/foreignkey.go:", "parse/parse.go:", "narrow/narrow.go:", "parsewidth/parsewidth.go:", "literal/literal.go:", "seed/seed.go:", "jsonfloat/jsonfloat.go:", "request/request.go:", "claim/claim.go:", "untyped/untyped.go:", "jsonmap/jsonmap.go:", "jsonstring/jsonstring.go:",
		}},
		{"list in another package", "testdata", []string{program, "vet", "./shop/..."}, clitest.Findings, []string{
			"shop/handlers/handlers.go:17:10: ParseUint reads a key of User with 32 bits", "shop/handlers/handlers.go:20:9: int32 has too few digits",
			"shop/handlers/handlers.go:24:10: ParseUint reads a key of User with 32 bits",
		}},
		{"a rule is left out", "testdata", []string{program, "vet", "--skip-rules", "narrow,seed", "./narrow"}, clitest.OK, nil},
		{"no package", "testdata", []string{program, "vet", "./nothing/..."}, clitest.Failed, []string{"./nothing/..."}},
		{"an unknown rule", "testdata", []string{program, "vet", "--skip-rules", "wide", "./narrow"}, clitest.Usage, []string{"--skip-rules wide: no rule has this name"}},
		{"what is no package", "testdata", []string{program, "vet", "./none"}, clitest.Failed, []string{"gormflake: cannot load the packages: "}},
		{"JSON", "testdata", []string{program, "vet", "--json", "./jsonstring"}, clitest.Findings, []string{`"rule": "jsonstring",`, `"file": "jsonstring/jsonstring.go",`, `"line": 6,`}},
		{"without the tag", "testdata", []string{program, "vet", "./tagged"}, clitest.OK, nil},
		{"tag", "testdata", []string{program, "vet", "--tags", "more", "./tagged"}, clitest.Findings, []string{"tagged/more.go:"}},
		{"-tags, as the go command spells it", "testdata", []string{program, "vet", "-tags", "other,more", "./tagged"}, clitest.Findings, []string{"tagged/more.go:"}},
		{"-tags with an equals sign", "testdata", []string{program, "vet", "-tags=more", "./tagged"}, clitest.Findings, []string{"tagged/more.go:"}},
		{"tag of go vet", "testdata", []string{"go", "vet", "-tags", "more", "-vettool=" + program, "./tagged"}, clitest.Failed, []string{"tagged/more.go:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), test.command[0], test.command[1:]...)
			cmd.Dir = test.folder
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d, error %v, output:\n%s", code, test.code, err, out)
			}
			for _, want := range test.want {
				if !bytes.Contains(out, []byte(want)) {
					t.Errorf("want %q in\n%s", want, out)
				}
			}
		})
	}
}

// The help lists each rule with its description, for example untyped.
func TestVetHelp(t *testing.T) {
	t.Parallel()
	if got := clitest.Printed(t, clitest.AtNoon(nil, "vet", "--help")); !strings.Contains(got, "untyped     report IDs that are stored as any") {
		t.Errorf("help = %s", got)
	}
}

// IsTool recognizes the arguments with which go vet runs a tool, such as a file vet.cfg. It
// must not take the arguments of another command for them, such as those of "parse app.cfg".
func TestIsTool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want bool
	}{
		{"-V=full", true},
		{"-flags", true},
		{"/tmp/b001/vet.cfg", true},
		{"-json -narrow /tmp/b001/vet.cfg", true},
		{"", false},
		{"parse app.cfg", false},
		{"--help", false},
		{"vet ./...", false},
	} {
		if got := vet.IsTool(strings.Fields(test.args)); got != test.want {
			t.Errorf("IsTool(%q) = %t, want %t", test.args, got, test.want)
		}
	}
}
