package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Written is what an entry says it would start, before expansion: a ${VAR} stands for itself.
type Written struct {
	Command Secret
	Args    []Secret
	Env     map[string]Secret
}

// keepWritten remembers the fields that say what is started.
func (e *entry) keepWritten(field string, v hujson.Value) {
	w := &e.server.Written
	text := func(v hujson.Value) Secret {
		if v.Value.Kind() != '"' {
			return ""
		}
		return Secret(v.Value.(hujson.Literal).String())
	}
	switch field {
	case "command":
		w.Command = text(v)
	case "args":
		if array, ok := v.Value.(*hujson.Array); ok {
			for _, element := range array.Elements {
				w.Args = append(w.Args, text(element))
			}
		}
	case "env":
		if object, ok := v.Value.(*hujson.Object); ok {
			w.Env = make(map[string]Secret, len(object.Members))
			for _, m := range object.Members {
				w.Env[memberName(m)] = text(m.Value)
			}
		}
	}
}

// ConsentSettings is Settings for the person who is asked whether a server of a project's file may run. What would
// be started is shown as it stands in the file, the values of env included: they are the project's wish, and one
// that is hidden cannot be judged. What ${VAR} stands for is the person's own and is not shown. A variable that
// decides what code runs has a note that says so.
func ConsentSettings(s Server) []Setting {
	list := Settings(s)
	if s.Remote() || s.Written.Command == "" {
		return list
	}
	shown := make([]Setting, 0, len(list)+len(s.Written.Env))
	for _, setting := range list {
		switch setting.Name {
		case "command":
			setting.Value = oneLine(s.Written.Command.Reveal())
		case "args":
			args := make([]string, len(s.Written.Args))
			for i, arg := range s.Written.Args {
				args[i] = arg.Reveal()
			}
			setting.Value = quoteAll(args)
		case "env":
			names := make([]string, 0, len(s.Written.Env))
			for name := range s.Written.Env {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				variable := setting
				variable.Value = oneLine(name) + "=" + oneLine(s.Written.Env[name].Reveal())
				if steersCode(name) {
					variable.Note = "decides what code the server runs"
				}
				shown = append(shown, variable)
			}
			continue
		}
		shown = append(shown, setting)
	}
	return shown
}

// steersCode reports whether a variable of this name can make an ordinary program load or start something else, or
// fetch it from elsewhere.
func steersCode(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{
		"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "NPM_CONFIG_", "PIP_", "UV_", "CORECLR_", "COR_", "DOTNET_STARTUP", "GLIBC_",
	} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	switch upper {
	case "PATH", "PATHEXT", "COMSPEC", "SHELL", "HOME", "XDG_CONFIG_HOME", "BASH_ENV", "ENV", "ZDOTDIR", "IFS", "PS4", "PROMPT_COMMAND",
		"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_REPL_EXTERNAL_MODULE", "BUN_OPTIONS", "DENO_DIR",
		"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONBREAKPOINT", "PYTHONWARNINGS", "VIRTUAL_ENV",
		"PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB", "RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "PHPRC", "PHP_INI_SCAN_DIR",
		"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JAVA_HOME", "CLASSPATH", "LUA_PATH", "LUA_CPATH", "LUA_INIT",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_PROXY_COMMAND",
		"GIT_TEMPLATE_DIR", "SSH_ASKPASS", "SUDO_ASKPASS", "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "RUSTC_WRAPPER", "CARGO_HOME", "GCONV_PATH",
		"DOCKER_HOST", "OPENSSL_CONF", "SSL_CERT_FILE", "SSL_CERT_DIR", "GTK_MODULES", "MAKEFLAGS":
		return true
	}
	return false
}
