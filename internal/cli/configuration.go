package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/internal/tour"
)

// configuration reads what the flags name. --stdio stands in the place of the files that would be found, and
// beside a --config file. With no server at all and nothing wrong, the tour is offered when withTour is set, with
// words about it unless it is the server that the command names.
func (a *app) configuration(ctx context.Context, withTour bool, named string) (*config.Config, error) {
	if a.loaded != nil {
		return a.loaded, nil // a pipe can be read once
	}
	if a.protocol != "" && a.protocol != string(config.Legacy) && a.protocol != string(config.Auto) {
		return nil, &client.Error{
			Code: client.CodeInvalid, Message: fmt.Sprintf("--protocol %s: want legacy or auto", a.protocol),
		}
	}
	c := &config.Config{}
	if a.configFile != "" || len(a.stdio) == 0 {
		var err error
		c, err = await(ctx, func() (*config.Config, error) {
			return config.Load(config.LoadOptions{File: a.configFile, Lookup: a.lookupEnv})
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &client.Error{
				Phase: client.PhaseConfig, Code: client.CodeConfig, Message: "the current directory does not exist any more", Err: err,
				Hint: "change to one that does: cd",
			}
		case err != nil:
			return nil, err
		}
		// A file that was asked for and cannot be read is no file that happens to be broken.
		if lost := fileErrors(c); a.configFile != "" && len(c.Servers) == 0 && len(lost) > 0 {
			a.noteProblems(onlyWarnings(c), "")
			return nil, configError(lost.Err())
		}
	}
	adHoc, err := a.adHocServers()
	if err != nil {
		return nil, err
	}
	if len(adHoc) > 0 {
		c = config.Merge(c, &config.Config{Servers: adHoc})
	}
	if withTour && len(c.Servers) == 0 && len(c.Problems.Errors()) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program, to start the tour: %w", err)
		}
		c.Servers = []config.Server{tour.Server(exe)}
		if !a.json && named != c.Servers[0].Name {
			a.note("Nothing is configured, so here is the tour (server %q). To use your own servers, write usher.json or give --stdio 'COMMAND …'.", c.Servers[0].Name)
		}
	}
	if a.protocol != "" {
		for i := range c.Servers {
			if !c.Servers[i].Remote() {
				c.Servers[i].VersionNegotiation = config.Negotiation(a.protocol)
			}
		}
	}
	a.redactor = config.NewRedactor(c.Servers...)
	a.loaded = c
	return c, nil
}

// variableName is how variables are usually written, and servers are not.
var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

var adHocName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)=(.*)$`)

// adHocServers are the servers of --stdio. A lone one without a name is called "server"; of several each needs one.
func (a *app) adHocServers() ([]config.Server, error) {
	flags := a.stdio
	bad := func(flag, format string, args ...any) error {
		return &client.Error{
			Code: client.CodeInvalid, Message: fmt.Sprintf("--stdio %q: ", flag) + fmt.Sprintf(format, args...),
			Hint: "write --stdio 'COMMAND …' or --stdio 'name=COMMAND …'",
		}
	}
	var servers []config.Server
	seen := map[string]bool{}
	for _, flag := range flags {
		name, command := "", strings.TrimSpace(flag)
		if m := adHocName.FindStringSubmatch(command); m != nil {
			name, command = m[1], m[2]
		}
		words, err := splitWords(command)
		switch {
		case err != nil:
			return nil, bad(flag, "%v", err)
		case len(words) == 0 || words[0] == "":
			return nil, bad(flag, "no command is given")
		case name == "" && len(flags) > 1:
			return nil, bad(flag, "of several servers each needs a name")
		case name == "":
			name = "server"
		case len(name) > 64:
			return nil, bad(flag, "a name has at most 64 characters")
		}
		if seen[name] {
			return nil, bad(flag, "the name %q is given twice", name)
		}
		seen[name] = true
		if variableName.MatchString(name) && len(words) > 1 {
			a.note("warning: --stdio: %s is the name of the server here; to set a variable for it, write --stdio 'env %s'", name, flag)
		}
		servers = append(servers, config.Server{
			Name: name, Type: config.TypeStdio, Command: words[0], Args: words[1:],
			VersionNegotiation: config.Legacy, Source: config.Source{Scope: config.ScopeAdHoc},
		})
	}
	return servers, nil
}

// only finds one server by its name.
func only(c *config.Config, name string) (config.Server, error) {
	if s, ok := c.Server(name); ok {
		return s, nil
	}
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	failure := &client.Error{Code: client.CodeNotFound, Phase: client.PhaseConfig, Message: fmt.Sprintf("no server %q is configured", name)}
	switch near := nearest.Name(name, names); {
	case near != "":
		failure.Hint = fmt.Sprintf("did you mean %q?", near)
	case len(names) > 0:
		failure.Hint = "there are: " + strings.Join(names, ", ")
	}
	// It may well stand in a file that could not be read.
	if lost := fileErrors(c); len(lost) > 0 {
		failure.Code, failure.Err = client.CodeConfig, lost
		failure.Message += "; " + lost[0].Error()
	}
	return config.Server{}, failure
}

// fileErrors are the errors that cost more than one server.
func fileErrors(c *config.Config) config.Problems {
	var lost config.Problems
	for _, p := range c.Problems.Errors() {
		if p.Server == "" {
			lost = append(lost, p)
		}
	}
	return lost
}

// noteProblems writes what is wrong with the configuration to standard error, one line each. With a name, what
// is about other servers is left out. Errors of single servers are not among them: they are the state of their
// server, and told there.
func (a *app) noteProblems(c *config.Config, name string) {
	for _, p := range c.Problems {
		switch {
		case p.Severity == config.SeverityWarning && (name == "" || p.Server == "" || p.Server == name):
			a.note("warning: %v", p)
		case p.Severity == config.SeverityError && p.Server == "":
			a.note("error: %v", p)
		}
	}
}

// approvals is the store of decisions about servers of project files, and the project they belong to.
func (a *app) approvals() (store *approval.Store, project string, err error) {
	dir := config.StateDir(a.lookupEnv)
	if dir == "" {
		return nil, "", errors.New("there is no place to remember approvals in: neither HOME nor XDG_STATE_HOME is set")
	}
	project, err = os.Getwd()
	if err != nil {
		return nil, "", fmt.Errorf("finding the project's directory: %w", err)
	}
	return approval.Open(dir), project, nil
}

// hostApprovals is what a host over servers asks before it starts them. Without a place for decisions, no server
// that needs one is started.
func (a *app) hostApprovals(servers []config.Server) usher.Approvals {
	store, project, err := a.approvals()
	if err != nil {
		return noApprovals{err}
	}
	if _, err := store.Lookup(project, servers...); err != nil {
		a.note("warning: %v", err)
	}
	return store.Project(project)
}

// noApprovals stands for a store that does not exist.
type noApprovals struct{ why error }

func (n noApprovals) Approved(s config.Server) bool { return !approval.Needed(s) }
func (n noApprovals) Approve(config.Server) error   { return n.why }

// appOptions are the host's rules for apps as the configuration gives them.
func appOptions(s config.AppsSettings) usher.AppOptions {
	return usher.AppOptions{
		Disabled: s.Disabled, RequireServerCapability: s.RequireServerCapability, MaxHTMLBytes: int(s.MaxHTMLBytes),
	}
}
