package nearest_test

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/nearest"
)

func TestName(t *testing.T) {
	known := []string{"command", "args", "env", "cwd", "includeTools", "excludeTools", "timeout", "discoveryTimeoutMs"}
	for _, tt := range []struct{ name, want string }{
		{"comand", "command"},
		{"Command", "command"},
		{"cmomand", "command"},
		{"arg", "args"},
		{"agrs", "args"},
		{"include_tools", "includeTools"},
		{"exclude-tools", "excludeTools"},
		{"discoveryTimeout", "discoveryTimeoutMs"},
		{"timeouts", "timeout"},
		{"envs", "env"},
		{"zzz", ""},
		{"x", ""},
		{"", ""},
		{"transport", ""},
		{strings.Repeat("c", 1000), ""},
	} {
		if got := nearest.Name(tt.name, known); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := nearest.Name("anything", nil); got != "" {
		t.Errorf("Name with nothing known = %q", got)
	}
}
