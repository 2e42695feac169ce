package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/client"
)

// versionOutput is what `usher version --json` prints.
type versionOutput struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if a.json {
				return a.printJSON(v)
			}
			text := "usher " + v.Version
			if v.Revision != "" {
				text += " (" + v.Revision[:min(len(v.Revision), 12)]
				if v.Modified {
					text += ", modified"
				}
				text += ")"
			}
			return a.print(fmt.Sprintf("%s, %s, %s", text, v.Go, v.Platform))
		},
	}
}

// version is what the build recorded.
func version() versionOutput {
	v := versionOutput{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// implementation is what usher calls itself to servers.
func implementation() client.Implementation {
	return client.Implementation{Name: "usher", Title: "Usher", Version: version().Version}
}
