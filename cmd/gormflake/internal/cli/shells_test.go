//go:build unix

package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// completions are typed commands, and the text that the shell shows after a Tab.
var completions = []struct{ typed, want string }{
	{"gormflake vers", "gormflake version "},
	{"gormflake migrate ap", "gormflake migrate apply "},
	{"gormflake gen --wi", "gormflake gen --window"},
	{"gormflake gen --as base5", "gormflake gen --as base58 "},
}

// The scripts that "completion" prints work in the shells, with the built program.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	program := clitest.Build(t)
	for name, test := range map[string]func(*testing.T, string, string){"bash": inBash, "zsh": inZsh, "fish": inFish} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, testserver.Program(t, name), filepath.Dir(program))
		})
	}
}

const eraseLine = "\x15" // Ctrl-U

// bashSetup loads the package bash-completion and the completions of the program. If the
// package is missing, it defines the function of the package that the script calls. It prints
// "loaded", for which the test waits. The typed text spells this word with quotes in it, so
// that its echo does not match.
const bashSetup = `
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
	source /usr/share/bash-completion/bash_completion
else
	_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${words[cword]} prev=${words[cword-1]}; }
fi
gormflake completion bash > script && source ./script && PS1= && echo lo''aded
`

// inBash tests the completions in bash. folder contains the program.
func inBash(t *testing.T, bash, folder string) {
	tabs(t, bashSetup, folder, bash, "--noprofile", "--norc", "-i")
}

// zshSetup loads the completions of zsh and of the program. It prints "loaded", for which the
// test waits. The typed text spells this word with quotes in it, so that its echo does not
// match.
const zshSetup = `
autoload -U compinit && compinit -u -D
gormflake completion zsh > script && source ./script && PS1= && echo lo''aded
`

// inZsh tests the completions in zsh. folder contains the program.
func inZsh(t *testing.T, zsh, folder string) {
	tabs(t, zshSetup, folder, zsh, "-f", "-i")
}

// tabs types each completion into an interactive shell, presses Tab, and waits for the wanted
// text.
func tabs(t *testing.T, setup, folder, shell string, args ...string) {
	term := inTerminal(t, "/usr/bin/env", append([]string{"-i", "HOME=.", "HISTFILE=", "TERM=dumb", "PATH=" + folder + ":/usr/bin:/bin", shell}, args...)...)
	term.typeKeys(strings.TrimSpace(setup) + "\n")
	term.waitFor("loaded\r\n")
	for _, c := range completions {
		term.typeKeys(c.typed + "\t")
		term.waitFor(c.want)
		term.typeKeys(eraseLine)
	}
	term.typeKeys("exit 0\n")
	term.wantExit(clitest.OK, "loaded")
	if shown := term.screen(); strings.Contains(shown, "not found") || strings.Contains(shown, "error") {
		t.Errorf("the shell complains:\n%s", shown)
	}
}

// inFish tests the completions in fish. folder contains the program. It uses fish's command
// complete, which prints the completions of the last word of a text, because an interactive
// fish redraws the line.
func inFish(t *testing.T, fish, folder string) {
	for _, c := range completions {
		command := exec.CommandContext(t.Context(), fish, "--no-config", "-c", "gormflake completion fish | source; complete -C '"+c.typed+"'")
		command.Env = []string{"HOME=" + t.TempDir(), "PATH=" + folder + ":/usr/bin:/bin"}
		out, err := command.CombinedOutput()
		// last is the last word of the wanted command line.
		last := c.want[strings.LastIndexByte(strings.TrimSpace(c.want), ' ')+1:]
		if word, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t"); err != nil || word != strings.TrimSpace(last) {
			t.Errorf("%s is completed as %q, error %v, want %s", c.typed, out, err, last)
		}
	}
}
