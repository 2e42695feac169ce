package config

import "strings"

// looksSecret reports whether a name of a variable, header or option is one that secrets have.
func looksSecret(name string) bool {
	n := strings.ToLower(name)
	for _, word := range []string{
		"token", "secret", "password", "passwd", "passphrase", "apikey", "api_key", "api-key", "accesskey", "access_key",
		"access-key", "private", "credential", "authorization", "cookie", "bearer", "signature", "database_url", "dsn",
	} {
		if strings.Contains(n, word) {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(n, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		switch word {
		case "key", "auth", "pat", "pwd", "pass", "pw", "sid", "jwt":
			return true
		}
	}
	return false
}
