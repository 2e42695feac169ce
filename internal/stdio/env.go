package stdio

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// markerVar names the variable that marks every process of one server. Descendants inherit it, so that they can be told
// from other processes even when their parent is gone.
const markerVar = "USHER_PROCESS"

// inheritedUnix and inheritedWindows are the only variables a server gets from the host's own environment. Keys and
// tokens of the host must not leak into servers, so the list names what programs need to run at all and nothing else.
var (
	inheritedUnix    = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
	inheritedWindows = []string{
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT",
		"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT",
		"TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
	}
)

// inherits reports whether a server gets the host's variable of this name.
func inherits(goos, name string) bool {
	if goos == "windows" {
		return slices.Contains(inheritedWindows, strings.ToUpper(name))
	}
	return slices.Contains(inheritedUnix, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// environment builds the child's variables: the allow-list from host, then configured, which wins.
func environment(goos string, host []string, configured map[string]string) map[string]string {
	env := make(map[string]string, len(configured)+16)
	for _, kv := range host {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && inherits(goos, name) {
			env[name] = value
		}
	}
	for name, value := range configured {
		if goos == "windows" {
			// Names ignore case there; without this, two spellings would both reach the child.
			maps.DeleteFunc(env, func(k, _ string) bool { return strings.EqualFold(k, name) })
		}
		env[name] = value
	}
	return env
}

// variable looks name up as the operating system would.
func variable(goos string, env map[string]string, name string) string {
	if v, ok := env[name]; ok || goos != "windows" {
		return v
	}
	for k, v := range env {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// setVariable sets name, whatever its spelling was.
func setVariable(goos string, env map[string]string, name, value string) {
	if goos == "windows" {
		maps.DeleteFunc(env, func(k, _ string) bool { return strings.EqualFold(k, name) })
	}
	env[name] = value
}

// list renders env for exec, sorted so that a start is reproducible.
func list(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

func hostEnvironment(configured map[string]string) map[string]string {
	return environment(runtime.GOOS, os.Environ(), configured)
}
