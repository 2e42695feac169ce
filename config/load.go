package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// LoadOptions are the options of Load. The zero value reads the project files of the current directory, with no
// variable set and no user file.
type LoadOptions struct {
	// File, when not empty, is the only file read; it must exist (--config).
	File string
	// Dir is the project's directory; empty for the current one.
	Dir string
	// Lookup answers ${VAR}, and XDG_CONFIG_HOME and HOME for the user's file; nil means that no variable is set.
	Lookup func(name string) (value string, ok bool)
}

// Load finds, reads and merges the files: the user's usher.json, then the project's .mcp.json, then its
// usher.json, the later ones with precedence; or File alone. Files that are not there are passed over, File
// excepted. The error is about the current directory only; everything about files is in the Config's Problems.
func Load(o LoadOptions) (*Config, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("finding the project's directory: %w", err)
	}
	if o.File != "" {
		path := o.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return loadFile(o.File, path, ScopeExplicit, o.Lookup), nil
	}
	var configs []*Config
	user := UserFile(o.Lookup)
	if user != "" {
		configs = append(configs, loadFile(user, user, ScopeUser, o.Lookup))
	}
	for _, name := range []string{".mcp.json", "usher.json"} {
		path := filepath.Join(dir, name)
		if user != "" && sameFile(user, path) {
			continue // the project is the user's own configuration directory
		}
		shown := name
		if o.Dir != "" {
			shown = filepath.Join(o.Dir, name)
		}
		configs = append(configs, loadFile(shown, path, ScopeProject, o.Lookup))
	}
	return Merge(configs...), nil
}

// UserFile is the path of the user's usher.json: under XDG_CONFIG_HOME, else ~/.config, on Windows %APPDATA%.
// It is empty when none of these is set.
func UserFile(lookup func(string) (string, bool)) string {
	return userPath(lookup, "XDG_CONFIG_HOME", ".config", "APPDATA", "usher.json")
}

// StateDir is the directory for what usher remembers between runs: usher under XDG_STATE_HOME, else
// ~/.local/state, on Windows %LOCALAPPDATA%. It is empty when none of these is set.
func StateDir(lookup func(string) (string, bool)) string {
	return userPath(lookup, "XDG_STATE_HOME", filepath.Join(".local", "state"), "LOCALAPPDATA", "")
}

func userPath(lookup func(string) (string, bool), xdg, underHome, windows, name string) string {
	get := func(variable string) string {
		if lookup == nil {
			return ""
		}
		value, _ := lookup(variable)
		return value
	}
	base := get(xdg)
	if !filepath.IsAbs(base) { // the XDG specification has relative ones ignored
		base = ""
	}
	if base == "" && runtime.GOOS == "windows" {
		base = get(windows)
	}
	if home := get("HOME"); base == "" && home != "" {
		base = filepath.Join(home, underHome)
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "usher", name)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func loadFile(shown, path, scope string, lookup func(string) (string, bool)) *Config {
	data, err := readFile(path, scope == ScopeExplicit)
	if err != nil {
		if scope != ScopeExplicit && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return nil
		}
		return &Config{Files: []string{shown}, Problems: Problems{{
			Severity: SeverityError, File: shown, Message: "cannot be read: " + reason(err), Err: err,
		}}}
	}
	return Parse(File{Name: shown, Dir: filepath.Dir(path), Scope: scope, Data: data}, ParseOptions{Lookup: lookup})
}

var errIrregular = errors.New("it is not a regular file")

// readFile reads at most one byte more than Parse accepts. A pipe is read only where the person named it: one
// that lies in a project would block.
func readFile(path string, pipes bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || !info.Mode().IsRegular() && !pipes {
		return nil, errIrregular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, errors.Join(err, f.Close())
}

// reason is the system's reason without the path, which the problem names already.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
