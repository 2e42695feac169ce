package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/nearest"
)

// actionTime bounds the waiting for a server to become what was asked; it goes on without the waiting.
const actionTime = time.Minute

func (s *Server) listServers(w http.ResponseWriter, _ *http.Request) error {
	list := api.ServerList{Servers: []api.Server{}}
	catalog := s.host.Catalog()
	for _, status := range s.host.Servers() {
		list.Servers = append(list.Servers, server(status, catalog))
	}
	return respond(w, http.StatusOK, list)
}

func (s *Server) getServer(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := s.known(name); err != nil {
		return err
	}
	status, _ := s.host.Server(name)
	return respond(w, http.StatusOK, server(status, s.host.Catalog()))
}

// act makes a handler of something that can be done to a server. It answers with the server as it then stands: that it
// did not become ready is in there, and an error of the action only when it could not be begun.
func act(do func(Host, context.Context, string) error) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		if err := decode(r, &struct{}{}); err != nil {
			return err
		}
		name := r.PathValue("name")
		if err := s.known(name); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), actionTime)
		defer cancel()
		err := do(s.host, ctx, name)
		status, _ := s.host.Server(name)
		var failure *client.Error
		switch {
		case r.Context().Err() != nil:
			return r.Context().Err()
		case err == nil, ctx.Err() != nil, errors.As(err, &failure) && status.Err != nil:
			return s.getServer(w, r)
		default:
			return err
		}
	}
}

func enable(h Host, ctx context.Context, name string) error { //nolint:revive // shaped as a method expression of Host
	return h.SetEnabled(ctx, name, true)
}

func disable(h Host, ctx context.Context, name string) error { //nolint:revive // shaped as a method expression of Host
	return h.SetEnabled(ctx, name, false)
}

func (s *Server) stderr(w http.ResponseWriter, r *http.Request) error {
	text, truncated, err := s.host.Stderr(r.PathValue("name"))
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, api.Stderr{Text: text, Truncated: truncated})
}

// known refuses a server that is not configured, and names the nearest that is.
func (s *Server) known(name string) error {
	if _, ok := s.host.Server(name); ok {
		return nil
	}
	var names []string
	for _, status := range s.host.Servers() {
		names = append(names, status.Name)
	}
	refused := refuse(string(client.CodeNotFound), fmt.Sprintf("No server is named %q.", name), "")
	if near := nearest.Name(name, names); near != "" {
		refused.wire.Hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return refused
}

// server is a server as it is told.
func server(s usher.ServerStatus, catalog *usher.Catalog) api.Server {
	out := api.Server{
		Name: s.Name, State: string(s.State), Since: s.Since.UTC(),
		Transport: transport(s.Config), Era: string(s.Era), ProtocolVersion: s.ProtocolVersion,
		ServerName: s.Info.Name, ServerTitle: s.Info.Title, ServerVersion: s.Info.Version,
		Instructions: s.Instructions, Capabilities: object(s.Capabilities),
		Negotiation: api.Negotiation{
			Policy: s.Negotiation.Policy, Probed: s.Negotiation.Probed, Verdict: s.Negotiation.Verdict,
			Reason: s.Negotiation.Reason, ProbeMs: s.Negotiation.Probe.Milliseconds(),
		},
		PID: s.PID, Starts: s.Starts, ConnectedMs: s.Connected.Milliseconds(),
		Tools: s.Tools, Prompts: s.Prompts, Resources: s.Resources, Warnings: s.Warnings,
		Description: s.Config.Description, Settings: []api.Setting{},
	}
	if out.Negotiation.Policy == "" {
		out.Negotiation.Policy = string(config.Legacy)
		if s.Config.VersionNegotiation != "" {
			out.Negotiation.Policy = string(s.Config.VersionNegotiation)
		}
	}
	if s.Err != nil && s.State != usher.StateDisabled {
		out.Error = conversation.WireError(s.Err)
	}
	settings := config.Settings
	if s.State == usher.StateAwaitingApproval {
		settings = config.ConsentSettings // what is hidden cannot be judged
	}
	for _, setting := range settings(s.Config) {
		out.Settings = append(out.Settings, api.Setting(setting))
	}
	for _, rejected := range catalog.Rejected[s.Name] {
		out.Rejected = append(out.Rejected, api.Rejected{Kind: rejected.Kind, Name: rejected.Name, Reason: rejected.Reason})
	}
	return out
}

func transport(c config.Server) string {
	switch {
	case c.Type != "":
		return c.Type
	case c.Remote():
		return config.TypeHTTP
	default:
		return config.TypeStdio
	}
}

// object is raw JSON that can be part of an answer; nil for what is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	return raw
}
