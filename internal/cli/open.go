package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/daemon"
)

func newOpenCommand(a *app) *cobra.Command {
	var (
		dataDir string
		show    bool
	)
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the WebShell of the running usher serve",
		Long: `open asks the running "usher serve" for a new one-time code and opens the WebShell with it.

Where standard output is not a terminal, and with --print or --json, the address is printed alone.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			code, err := a.loginCode(cmd.Context(), dataDir)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(code)
			}
			if err := a.print(code.URL); err != nil || show || !isTerminal(a.stdout) {
				return err
			}
			if err := startBrowser(cmd.Context(), code.URL); err != nil {
				a.note("No browser was started (%v). Open the address yourself.", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "the `DIR` that usher serve was given")
	cmd.Flags().BoolVar(&show, "print", false, "print the address and start no browser")
	return cmd
}

// loginCode asks the running daemon for a new one-time code.
func (a *app) loginCode(ctx context.Context, dataDir string) (code api.LoginCode, err error) {
	dir, err := a.dataDir(dataDir)
	if err != nil {
		return code, err
	}
	notRunning := func(err error) error {
		return &client.Error{
			Code: client.CodeUnavailable, Message: "no usher serve is running with its sessions in " + dir,
			Hint: "start it: usher serve. One with another --data-dir needs the same flag here", Err: err,
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, daemonFileName))
	if errors.Is(err, fs.ErrNotExist) {
		return code, notRunning(err)
	}
	if err != nil {
		return code, fmt.Errorf("looking for the running daemon: %w", err)
	}
	var where daemonFile
	if err := json.Unmarshal(text, &where); err != nil {
		return code, notRunning(err)
	}
	token, err := daemon.LoadToken(where.TokenFile)
	if err != nil {
		return code, startError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, where.Origin+"/v1/login-codes", http.NoBody)
	if err != nil {
		return code, notRunning(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// The token goes to the daemon and nowhere else: no proxy, no redirect.
	transport := &http.Transport{Proxy: nil}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return code, notRunning(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode == http.StatusCreated {
		err = json.Unmarshal(body, &code)
	}
	if err != nil || code.URL == "" {
		return code, notRunning(fmt.Errorf("%s answered %s: %w", where.Origin, response.Status, errors.Join(err, errNoCode)))
	}
	return code, nil
}

var errNoCode = errors.New("it gave no code")

// startBrowser hands an address to the system.
func startBrowser(ctx context.Context, address string) error {
	var command []string
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default:
		command = []string{"xdg-open", address}
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	return exec.CommandContext(ctx, command[0], command[1:]...).Run() //nolint:gosec // fixed commands
}
