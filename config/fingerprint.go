package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// running is what Fingerprint covers. It holds revealed secrets and goes nowhere but into a hash.
type running struct {
	Type        string
	Command     string
	Args        []string
	Env         map[string]string
	Cwd         string
	URL         string
	Headers     map[string]string
	Proxy       string
	CAFile      string
	Negotiation Negotiation
	OAuth       runningOAuth
}

type runningOAuth struct {
	ClientID, ClientSecret, RedirectURI, AuthorizationURL, TokenURL string
	Scopes                                                          []string
	CallbackPort                                                    int
}

// Fingerprint identifies what runs or is reached, and how: SHA-256, in hex, over command, args, env, cwd, type,
// url, headers, proxy, certificate authorities, negotiation and oauth. Servers with one fingerprint can share a
// session. The name, the description, the clocks and the choice of tools do not count.
func Fingerprint(s Server) string {
	r := running{
		Type: s.Type, Command: s.Command, Args: s.Args, Env: reveal(s.Env), Cwd: s.Cwd,
		URL: s.URL, Headers: reveal(s.Headers), Proxy: s.Proxy.Reveal(), CAFile: s.CAFile,
		Negotiation: s.VersionNegotiation,
	}
	if r.Type == "" && s.Command != "" {
		r.Type = TypeStdio
	}
	if r.Negotiation == "" {
		r.Negotiation = Legacy
	}
	if len(r.Args) == 0 {
		r.Args = nil
	}
	o := s.OAuth
	r.OAuth = runningOAuth{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), RedirectURI: o.RedirectURI,
		AuthorizationURL: o.AuthorizationURL, TokenURL: o.TokenURL, Scopes: o.Scopes, CallbackPort: o.CallbackPort,
	}
	return hash("usher server 1", r)
}

// ConsentFingerprint identifies what a person agrees to when they approve a server of a project: the entry as it
// is written, trust, alwaysAllow and the choice of tools included, the description excluded. It stays the same
// when only the value of a ${VAR} changes, which is the person's own. For a server that no file holds it is a
// hash over the same fields.
func ConsentFingerprint(s Server) string {
	if s.Digest != "" {
		return hash("usher consent file 1", s.Digest)
	}
	return hash("usher consent 1", struct {
		Fingerprint                             string
		Trust                                   bool
		IncludeTools, ExcludeTools, AlwaysAllow []string
	}{Fingerprint(s), s.Trust, s.IncludeTools, s.ExcludeTools, s.AlwaysAllow})
}

func reveal(secrets map[string]Secret) map[string]string {
	if len(secrets) == 0 {
		return nil
	}
	plain := make(map[string]string, len(secrets))
	for name, value := range secrets {
		plain[name] = value.Reveal()
	}
	return plain
}

// hash is over canonical JSON (sorted keys), in a domain of its own.
func hash(domain string, v any) string {
	canonical, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types hashed here always encode
	}
	sum := sha256.Sum256(append([]byte(domain+"\x00"), canonical...))
	return hex.EncodeToString(sum[:])
}
