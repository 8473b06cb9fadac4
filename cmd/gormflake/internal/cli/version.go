package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  gormflake version",
		Args:    flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			terminal.Say(cmd.OutOrStdout(), "gormflake version %s", version())
			return nil
		},
	}
}

// version is what the Go toolchain has noted of the module and its source.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := cmp.Or(info.Main.Version, "(devel)")
	if revision := settings["vcs.revision"]; revision != "" {
		text += " " + revision
	}
	if settings["vcs.modified"] == "true" {
		text += " with changes"
	}
	return fmt.Sprintf("%s, %s %s/%s", text, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}
