package cli

import (
	"slices"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/model"
	"github.com/usher-mcp/usher/permission"
	toolschema "github.com/usher-mcp/usher/schema"
)

// chatModel is the model that the configuration and the environment name, as the options of sessions, and what is to
// be closed afterwards; nil when none is named. name, when not empty, is the flag --model.
func (a *app) chatModel(c *config.Config, name string, o *conversation.Options) (*model.Client, error) {
	found, problems := model.FromEnvironment(model.Config{
		BaseURL: c.Model.BaseURL, Name: c.Model.Name, APIKey: c.Model.APIKey,
		ContextTokens: c.Model.ContextTokens, Vision: c.Model.Vision,
	}, a.lookup())
	for _, p := range problems {
		a.note("warning: %s", p)
	}
	if name != "" {
		found.Name = name
	}
	if found.Name == "" {
		return nil, nil //nolint:nilnil // no model is no error
	}
	// The key is in no server's configuration, so the redactor is told of it.
	a.redactor = config.NewRedactor(slices.Concat(c.Servers, []config.Server{{Expanded: []config.Secret{found.APIKey}}})...)
	made, err := model.New(found, model.Options{Logger: a.logger()})
	if err != nil {
		return nil, &client.Error{Phase: client.PhaseConfig, Code: client.CodeConfig, Message: err.Error(), Err: err}
	}
	profile := toolschema.Profile(c.Model.Profile)
	if profile == "" {
		profile = toolschema.ProfileFor(found.BaseURL, found.Name)
	}
	o.Model, o.Profile = made, profile
	o.ModelInfo = conversation.ModelInfo{Name: found.Name, ContextTokens: found.ContextTokens, Vision: found.Vision}
	return made, nil
}

// lookup is a.lookupEnv, or one that finds nothing.
func (a *app) lookup() func(string) (string, bool) {
	if a.lookupEnv != nil {
		return a.lookupEnv
	}
	return func(string) (string, bool) { return "", false }
}

// gate decides about the model's calls: by the configuration's rules, further allow rules, and a mode that replaces the
// configuration's when it is not empty.
func gate(s config.PermissionSettings, mode string, allow []string, store permission.Store) (*permission.Gate, error) {
	invalid := func(err error) error {
		return &client.Error{Phase: client.PhaseConfig, Code: client.CodeConfig, Message: err.Error(), Err: err}
	}
	if mode == "" {
		mode = s.Mode
	}
	parsed, err := permission.ParseMode(mode)
	if err != nil {
		return nil, invalid(err)
	}
	allowed, err := permission.ParseRules(slices.Concat(s.Allow, allow)...)
	if err != nil {
		return nil, invalid(err)
	}
	denied, err := permission.ParseRules(s.Deny...)
	if err != nil {
		return nil, invalid(err)
	}
	return permission.NewGate(permission.GateOptions{
		Policy: permission.Policy{Mode: parsed, Allow: allowed, Deny: denied}, Store: store,
	}), nil
}
