package stdio

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// containerLimit bounds stopping a container.
const containerLimit = 2 * time.Second

// container is a server that runs in a container: the process started here is only the engine's client, and ending it
// leaves the container running. A nil *container is a server without one.
type container struct {
	engine  string
	env     []string
	dir     string // temporary, holds the id file
	idFile  string
	stopped sync.Once
}

// contain recognises `docker run` and `podman run` and returns the arguments with a file for the container's id, and with
// --rm unless the arguments speak against it. Anything else is returned unchanged, with a nil container.
func contain(file string, args, env []string) ([]string, *container, error) {
	engine := strings.TrimSuffix(strings.ToLower(filepath.Base(file)), ".exe")
	if engine != "docker" && engine != "podman" {
		return args, nil, nil
	}
	run := runIndex(args)
	if run < 0 {
		return args, nil, nil
	}
	options := runOptions(args[run+1:])
	c := &container{engine: file, env: env}
	added := []string{}
	if id, ok := options["--cidfile"]; ok {
		c.idFile = id
	} else {
		dir, err := os.MkdirTemp("", "usher-container-")
		if err != nil {
			return nil, nil, err
		}
		c.dir, c.idFile = dir, filepath.Join(dir, "id")
		added = append(added, "--cidfile", c.idFile)
	}
	_, remove := options["--rm"]
	_, restart := options["--restart"]
	_, detached := options["-d"]
	_, detachedLong := options["--detach"]
	if !remove && !restart && !detached && !detachedLong {
		added = append(added, "--rm")
	}
	return slices.Insert(slices.Clone(args), run+1, added...), c, nil
}

// runIndex finds the `run` of `docker [options] run` or `docker [options] container run`; -1 when there is none. Options
// of the client that take a value may stand before it.
func runIndex(args []string) int {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "run":
			return i
		case a == "container":
		case slices.Contains([]string{"-c", "--context", "-H", "--host", "--config", "-l", "--log-level", "--connection", "--url", "--root", "--runroot"}, a):
			i++
		case strings.HasPrefix(a, "-"):
		default:
			return -1
		}
	}
	return -1
}

// runOptions reads the options before the image as far as they matter here. An option's value can look like an option only
// if it is one: what follows the image is not read, and an unknown option's value does not begin with a dash.
func runOptions(args []string) map[string]string {
	options := map[string]string{}
	for i := range args {
		name, value, joined := strings.Cut(args[i], "=")
		if name == "--" {
			break
		}
		if !strings.HasPrefix(name, "-") {
			// The image, or the value of the option before it. Only an image is followed by what the container runs, and
			// that may well hold a --rm of its own; an option is always followed by more.
			if i == 0 || !takesValue(args[i-1]) {
				break
			}
			continue
		}
		if !joined && name == "--cidfile" && i+1 < len(args) {
			value = args[i+1]
		}
		options[name] = value
		if len(name) > 2 && name[1] != '-' && strings.ContainsRune(name, 'd') && !joined {
			options["-d"] = "" // -itd
		}
	}
	return options
}

// takesValue reports whether a word of `docker run` may be an option followed by its value as a word of its own.
func takesValue(word string) bool {
	if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
		return false
	}
	if !strings.HasPrefix(word, "--") {
		// Letters without a value can be bundled; the last one decides.
		return !strings.ContainsAny(word[len(word)-1:], "ditPq")
	}
	return !slices.Contains([]string{
		"--rm", "--interactive", "--tty", "--detach", "--init", "--privileged", "--read-only", "--no-healthcheck",
		"--oom-kill-disable", "--publish-all", "--quiet", "--sig-proxy", "--disable-content-trust", "--replace", "--rmi", "--tls-verify",
	}, word)
}

// stop stops the container, once, if it ever got an id. A container that is already gone makes the engine fail, which is
// what was wanted.
func (c *container) stop(ctx context.Context, deadline time.Time) {
	if c == nil {
		return
	}
	c.stopped.Do(func() {
		id, err := os.ReadFile(c.idFile)
		if err != nil || len(strings.TrimSpace(string(id))) == 0 {
			return
		}
		// Even without time the engine should hear of it: once it has the request, it goes on by itself.
		now := time.Now()
		if least := now.Add(reapLimit / 2); deadline.Before(least) {
			deadline = least
		}
		deadline = earlier(deadline, now.Add(containerLimit))
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		cmd := exec.CommandContext(ctx, c.engine, "stop", "--time", "1", strings.TrimSpace(string(id)))
		cmd.Env = c.env
		cmd.WaitDelay = drainLimit
		_ = cmd.Run() // see above
	})
}

// discard removes the id file.
func (c *container) discard() {
	if c != nil && c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}
