package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// maxArguments bounds the arguments that --args reads from a file or standard input, in bytes.
const maxArguments = 16 << 20

// callOutput is what `usher call --json` prints.
type callOutput struct {
	Server            string            `json:"server"`
	Tool              string            `json:"tool"`
	Era               client.Era        `json:"era"`
	ProtocolVersion   string            `json:"protocolVersion"`
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"` // null when there is none
	IsError           bool              `json:"isError"`
	Display           usher.Display     `json:"display"`
	DurationMs        int64             `json:"durationMs"`
}

func newCallCommand(a *app) *cobra.Command {
	var whole string
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [key=value … | --args JSON | --args @FILE]",
		Short: "Run a tool",
		Long: `Run a tool of a server and print its result.

Arguments are given as key=value, read by the type the tool's schema gives the key: text as it is, numbers, true
and false; a list by repeating the key or as a JSON array; an object as JSON. key:=JSON gives any value as JSON.
--args gives the whole object as JSON, from a file as @FILE, or from standard input as @-.`,
		Args: arguments(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var object json.RawMessage
			if cmd.Flags().Changed("args") {
				if len(args) > 2 {
					return usageError(cmd, "--args and key=value cannot be given together")
				}
				var err error
				object, err = await(cmd.Context(), func() (json.RawMessage, error) { return a.wholeArguments(whole) })
				if err != nil {
					return err
				}
			}
			return a.withServer(cmd.Context(), args[0], func(ctx context.Context, h *usher.Host) error {
				return a.call(ctx, h, args[0], args[1], args[2:], object)
			})
		},
	}
	cmd.Flags().StringVar(&whole, "args", "", "all arguments as a JSON `OBJECT`, @FILE or @- (standard input)")
	return cmd
}

// wholeArguments reads the value of --args.
func (a *app) wholeArguments(value string) (json.RawMessage, error) {
	invalid := func(format string, args ...any) error {
		return &client.Error{Code: client.CodeInvalid, Message: "--args: " + fmt.Sprintf(format, args...)}
	}
	text := value
	if name, isFile := strings.CutPrefix(value, "@"); isFile {
		in := a.stdin
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, invalid("%v", err)
			}
			defer func() { _ = f.Close() }() // it is only read
			in = f
		}
		data, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
		switch {
		case err != nil:
			return nil, invalid("%v", err)
		case len(data) > maxArguments:
			return nil, invalid("more than %d MiB", maxArguments>>20)
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	if !utf8.ValidString(text) {
		return nil, invalid("is not UTF-8 text")
	}
	if !json.Valid([]byte(text)) {
		return nil, invalid("want a JSON object, got no JSON%s", jsonFault(text))
	}
	if !strings.HasPrefix(text, "{") {
		return nil, invalid(`want a JSON object such as {"key": "value"}`)
	}
	return json.RawMessage(text), nil
}

// jsonFault says where text stops being JSON.
func jsonFault(text string) string {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf(" (%v, at byte %d)", err, syntax.Offset)
	}
	return ""
}

func (a *app) call(ctx context.Context, h *usher.Host, server, name string, pairs []string, object json.RawMessage) error {
	var (
		tool  *usher.Tool
		names []string
	)
	catalog := h.Catalog()
	for i, t := range catalog.Tools {
		if t.Server == server {
			names = append(names, t.Name)
			if t.Name == name {
				tool = &catalog.Tools[i]
			}
		}
	}
	if tool == nil {
		if status, ok := h.Server(server); ok && !chosen(status.Config, name) {
			return &client.Error{
				Server: server, Phase: client.PhaseCall, Code: client.CodeDenied,
				Message: fmt.Sprintf("tool %q is excluded by the configuration", name),
				Hint:    "see includeTools and excludeTools in " + status.Config.Source.String(),
			}
		}
		return notFound(server, "tool", name, names, "usher tools "+shellWord(server))
	}
	if object == nil {
		var err error
		if object, err = keyedArguments(*tool, pairs); err != nil {
			return err
		}
	}
	call := usher.Call{Server: server, Tool: name, Arguments: object}
	if !a.json || a.verbose || isTerminal(a.stderr) {
		call.OnProgress = func(p client.Progress) { a.note("%s", progressLine(p)) }
	}
	result, err := h.Call(ctx, call)
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		a.note("warning: %s", line(warning, maxWarning))
	}
	if err := a.printResult(result); err != nil {
		return err
	}
	if result.IsError {
		return errToolFailed
	}
	return nil
}

// chosen reports whether a server's configuration keeps a tool of this name.
func chosen(s config.Server, name string) bool {
	return !slices.Contains(s.ExcludeTools, name) && (s.IncludeTools == nil || slices.Contains(s.IncludeTools, name))
}

// progressLine is "3/10 message", as far as the server said it.
func progressLine(p client.Progress) string {
	number := func(f float64) string {
		if math.Abs(f) >= 1e15 {
			return strconv.FormatFloat(f, 'g', 6, 64)
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	text := number(p.Progress)
	if p.Total != nil {
		text += "/" + number(*p.Total)
	}
	if p.Message != "" {
		text += " " + line(p.Message, 200)
	}
	return text
}

func (a *app) printResult(r *usher.Result) error {
	if a.json {
		out := callOutput{
			Server: r.Server, Tool: r.Tool, Era: r.Era, ProtocolVersion: r.ProtocolVersion,
			Content: []json.RawMessage{}, StructuredContent: r.StructuredContent, IsError: r.IsError,
			Display: r.Display, DurationMs: r.Duration.Milliseconds(),
		}
		for _, c := range r.Content {
			out.Content = append(out.Content, c.Raw)
		}
		return a.printJSON(out)
	}
	for _, c := range r.Content {
		if err := a.print(contentText(c)); err != nil {
			return err
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		if err := a.print(string(r.StructuredContent)); err != nil {
			return err
		}
	}
	switch d := r.Display; {
	case d.Problem != "":
		a.note("the tool's app is not shown: %s", d.Problem)
	case d.Type == usher.DisplayApp:
		a.note("the tool has an app (%s); usher serve shows it in a browser", d.ResourceURI)
	}
	return nil
}

// contentText is a content block as text; what is not text is named in brackets.
func contentText(c client.Content) string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
		return *c.Resource.Text
	case c.Type == "resource" && c.Resource != nil:
		return fmt.Sprintf("[resource %s %s]", c.Resource.URI, c.Resource.MIMEType)
	case c.Type == "resource_link":
		return fmt.Sprintf("[link %s %s]", c.URI, c.Name)
	case c.Data != "":
		return fmt.Sprintf("[%s %s, %d bytes]", c.Type, c.MIMEType, len(c.Data)/4*3-strings.Count(c.Data[max(0, len(c.Data)-2):], "="))
	default:
		return string(c.Raw)
	}
}

// shellWord quotes a word for a command that a person can copy.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/@:+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
