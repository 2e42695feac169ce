package model

import (
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/config"
)

// DefaultBaseURL is where the model is when nothing says so.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which model to use. It is usable with a Name; a BaseURL of this machine needs no key.
type Config struct {
	// BaseURL is the address before /chat/completions; empty means [DefaultBaseURL].
	BaseURL string
	// Name is the model, as its server calls it.
	Name   string
	APIKey config.Secret
	// ContextTokens is how many tokens fit into a request and its answer; 0 means unknown.
	ContextTokens int
	// Vision says that the model takes images.
	Vision bool
}

// FromEnvironment completes a configuration from environment variables, which lookup finds (os.LookupEnv is one).
// USHER_MODEL_BASE_URL, USHER_MODEL_NAME, USHER_MODEL_API_KEY, USHER_MODEL_CONTEXT_TOKENS and USHER_MODEL_VISION win
// over c; OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY stand in where neither says anything. OPENAI_API_KEY is
// used with the address that goes with it only: the one of OPENAI_BASE_URL or OpenAI's own. Another address, which
// a configuration file may name, does not get it. Values that are no number or no boolean are returned as problems,
// by the name of the variable, and change nothing.
func FromEnvironment(c Config, lookup func(string) (string, bool)) (Config, []string) {
	var problems []string
	get := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	if v := get("USHER_MODEL_BASE_URL"); v != "" {
		c.BaseURL = v
	}
	if v := get("USHER_MODEL_NAME"); v != "" {
		c.Name = v
	}
	if v := get("USHER_MODEL_API_KEY"); v != "" {
		c.APIKey = config.Secret(v)
	}
	if v := get("USHER_MODEL_CONTEXT_TOKENS"); v != "" {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			c.ContextTokens = n
		} else {
			problems = append(problems, "USHER_MODEL_CONTEXT_TOKENS is not a positive number")
		}
	}
	if v := get("USHER_MODEL_VISION"); v != "" {
		if b, err := strconv.ParseBool(v); err == nil {
			c.Vision = b
		} else {
			problems = append(problems, "USHER_MODEL_VISION is neither true nor false")
		}
	}
	known := get("OPENAI_BASE_URL")
	if c.BaseURL == "" {
		c.BaseURL = known
	}
	if c.Name == "" {
		c.Name = get("OPENAI_MODEL")
	}
	if c.APIKey == "" && (endpoint(c.BaseURL) == endpoint(known) || endpoint(c.BaseURL) == endpoint("")) {
		c.APIKey = config.Secret(get("OPENAI_API_KEY"))
	}
	return c, problems
}

// endpoint is the address that requests go to, whichever part of it was given.
func endpoint(baseURL string) string {
	if baseURL == "" {
		baseURL = DefaultBaseURL
	}
	path, query, asked := strings.Cut(baseURL, "?")
	path = strings.TrimRight(path, "/")
	if !strings.HasSuffix(path, "/chat/completions") {
		path += "/chat/completions"
	}
	if asked {
		path += "?" + query // some services want their version there
	}
	return path
}
