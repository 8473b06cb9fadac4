package browsertest

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestPictures writes the pictures of the README to the folder in PICTURES. "make pictures"
// runs it.
func TestPictures(t *testing.T) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		t.Skip("PICTURES does not name a folder")
	}
	p := open(t, serve(t), "/#ids=2124189853926044565&layout=twitter")
	p.do(chromedp.EmulateViewport(1100, 900))
	p.scheme("light")
	write(t, filepath.Join(folder, "inspector.png"), p.picture("#result"))
	named := filepath.Join(t.TempDir(), "gormflake") // the name that the commands of the session call
	if err := os.Symlink(testserver.Build(t, "../../.."), named); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "terminal.svg"), terminal(t, named))
}

// picture captures the page from its top to the end of the element.
func (p page) picture(selector string) []byte {
	p.t.Helper()
	size := value[[]float64](p, fmt.Sprintf(`[innerWidth, document.querySelector(%q).getBoundingClientRect().bottom + scrollY + 16]`, selector))
	beyond := true
	answer, err := chromedp.Call(p.ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
		Clip: &cdppage.Viewport{Width: size[0], Height: size[1], Scale: 1}, CaptureBeyondViewport: &beyond,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.Data
}

// write writes a picture to a file.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// session is the list of commands in the picture of a terminal.
var session = []string{
	`gormflake parse 2124189853926044565`,
	`echo 'order 2124189853926044565 paid' | gormflake parse`,
	`gormflake min 2026-11-21`,
	`gormflake gen --worker 7 -n 2 --as base32`,
}

// Sizes in the picture of a terminal, in pixels.
const (
	lineHeight = 19
	margin     = 18
	textWidth  = 880
)

// terminal runs the session and draws it as SVG, in the reader's colour scheme.
func terminal(t *testing.T, program string) []byte {
	t.Helper()
	var text bytes.Buffer
	lines := 0
	line := func(class, content string) {
		lines++
		fmt.Fprintf(&text, "<text class=%q x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", class, margin, 24+lines*lineHeight, html.EscapeString(content))
	}
	for _, command := range session {
		line("command", "$ "+command)
		for shown := range strings.SplitSeq(strings.TrimRight(run(t, program, command), "\n"), "\n") {
			line("shown", shown)
		}
	}
	height := 24 + lines*lineHeight + margin
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A terminal: gormflake reads and makes IDs">
<style>
rect { fill: #f6f7f9; stroke: #dde1e7 } circle { fill: #c3c9d2 }
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #191d24 }
.command { font-weight: 600; fill: #1c58b3 }
@media (prefers-color-scheme: dark) { rect { fill: #12151a; stroke: #323945 } circle { fill: #4a5362 } text { fill: #e6e9ee } .command { fill: #8fb8fa } }
</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8"/>
<circle cx="20" cy="16" r="5"/><circle cx="36" cy="16" r="5"/><circle cx="52" cy="16" r="5"/>
%s</svg>
`, textWidth, height, textWidth, height, textWidth-1, height-1, text.Bytes())
}

// run executes a shell command, with gormflake on the PATH.
func run(t *testing.T, program, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), "TZ=UTC")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
