package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// newVersion returns the command version.
func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  gormflake version\n  gormflake version --json",
		Args:    flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(readBuild())
			}
			terminal.Say(cmd.OutOrStdout(), "gormflake version %s", version())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// A build describes the module and its source, as the Go toolchain has recorded them.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Changed  bool   `json:"changed"` // whether the source had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readBuild returns the build of this program. The version is (devel) if the toolchain has
// not recorded a version.
func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

// version returns the build as a text on a single line, for example
// "v0.1.0 1f2e3d4c with changes, go1.25.0 linux/amd64".
func version() string {
	b := readBuild()
	text := b.Version
	if b.Revision != "" {
		text += " " + b.Revision
	}
	if b.Changed {
		text += " with changes"
	}
	return fmt.Sprintf("%s, %s %s", text, b.Go, b.Platform)
}
