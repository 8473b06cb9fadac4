package ids

import (
	"fmt"
	"os"
	"regexp"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

const publicName = "public"

// publicText is the form of package publicid: a prefix and 22 digits.
var publicText = regexp.MustCompile(`^([a-z][a-z0-9]{0,31})_[1-9A-HJ-NP-Za-km-z]{22}$`)

// codecs reads the files of --secret-file.
func codecs(files []string) (all []*publicid.Codec, err error) {
	for _, file := range files {
		secret, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		codec, err := publicid.New(secret)
		if err != nil {
			return nil, terminal.Usagef("--secret-file %s: %w", file, err)
		}
		all = append(all, codec)
	}
	return all, nil
}

// readPublic reads a text of the form by the first secret that it was made with.
func (in *interpreter) readPublic(prefix, s string) ([]reading, error) {
	if len(in.codecs) == 0 {
		return nil, fmt.Errorf("%s has the form of a public ID: want --secret-file", terminal.Quote(s))
	}
	for _, codec := range in.codecs {
		kind, err := publicid.For[types.ID](codec, prefix)
		if err != nil {
			return nil, err
		}
		if id, err := kind.Parse(s); err == nil {
			return []reading{{form{name: publicName}, id, prefix}}, nil
		}
	}
	return nil, fmt.Errorf("%s is not a public ID of this secret: want the secret that it was made with, and its prefix and every digit unchanged", terminal.Quote(s))
}
