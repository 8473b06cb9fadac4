package docstest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../../../.."

// A block is a fenced block of a page. about is the text after the language on its first
// line, for example sqlite:// before the schema of SQLite.
type block struct {
	language, about, text string
	line                  int
}

// A page is a file of the repository with its blocks.
type page struct {
	name   string
	text   string
	blocks []block
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)[ \t]*([^\n]*)\n(.*?)^```$")

// pages returns the READMEs and the files of docs.
func pages(t *testing.T) []page {
	t.Helper()
	var pages []page
	for _, pattern := range []string{"README*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			pages = append(pages, read(t, path))
		}
	}
	return pages
}

// read reads a page.
func read(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := page{name: filepath.Base(path), text: string(text)}
	for _, at := range fence.FindAllStringSubmatchIndex(p.text, -1) {
		p.blocks = append(p.blocks, block{
			p.text[at[2]:at[3]], p.text[at[4]:at[5]], p.text[at[6]:at[7]],
			1 + strings.Count(p.text[:at[0]], "\n"),
		})
	}
	return p
}

// of returns the blocks in these languages.
func (p *page) of(languages ...string) []block {
	var found []block
	for _, b := range p.blocks {
		for _, language := range languages {
			if b.language == language {
				found = append(found, b)
			}
		}
	}
	return found
}

// A command is a command of a page with the output that the page shows. If the block shows no
// output, quiet is set.
type command struct {
	text  string
	shown []string
	quiet bool
	line  int
}

// commands returns the commands of a block. A line that ends with a backslash continues
// on the next line.
func (b *block) commands(t *testing.T) []command {
	t.Helper()
	var found []command
	continued := false
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		// prompted is true if a command begins at this line.
		text, prompted := strings.CutPrefix(line, "$ ")
		if b.language == "sh" { // each line is a command, except comments
			prompted = !strings.HasPrefix(line, "#") && line != ""
		}
		last := len(found) - 1
		switch {
		case continued:
			found[last].text += "\n" + line
			text = line
		case prompted:
			found = append(found, command{text: text, quiet: b.language == "sh", line: b.line + 1 + i})
		case b.language == "sh":
			continue
		case last < 0:
			t.Fatalf("line %d: output without a command", b.line)
		default:
			found[last].shown = append(found[last].shown, line)
			continue
		}
		continued = strings.HasSuffix(text, `\`)
	}
	return found
}
