package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/sse"
)

const (
	idleSessions  = 100
	streamClients = 200
	streamEvents  = 20
	// daemonTime bounds one round with a daemon.
	daemonTime = 2 * time.Minute
)

// The names of what is measured of the daemon. There is no other program to compare with; the targets are absolute.
const (
	workStart    = "start to first response"
	workResident = "resident with 20 servers ready and 100 sessions"
	workStream   = "one event to 200 readers of its session, p99"
	daemonName   = "usher serve"
	mebibytes    = "MiB"
	milliseconds = "ms"
)

// daemon is a running usher serve.
type daemon struct {
	cmd   *exec.Cmd
	url   string
	token string
	http  *http.Client
}

// measureDaemon starts the daemon with many servers, once per round, and returns what it found. The resident size is
// read from /proc and left out where there is none.
func measureDaemon(ctx context.Context, binary, server string, rounds int, progress io.Writer) ([]series, error) {
	values := map[string][]float64{}
	for round := range rounds {
		fmt.Fprintf(progress, "daemon, round %d of %d\n", round+1, rounds)
		if err := daemonRound(ctx, binary, server, values); err != nil {
			return nil, fmt.Errorf("%s: %w", binary, err)
		}
	}
	var all []series
	for _, w := range []struct{ name, unit string }{
		{workStart, milliseconds}, {workResident, mebibytes}, {workStream, milliseconds},
	} {
		if v := values[w.name]; len(v) > 0 {
			all = append(all, series{Name: w.name, Unit: w.unit, Values: map[string][]float64{daemonName: v}})
		}
	}
	return all, nil
}

func daemonRound(ctx context.Context, binary, server string, values map[string][]float64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, daemonTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "usher-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := writeConfig(dir, server)
	if err != nil {
		return err
	}

	began := time.Now()
	d, err := startDaemon(ctx, binary, "serve", "--json", "--addr", "127.0.0.1:0", "--config", config, "--data-dir", filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.send(ctx, http.MethodGet, "/healthz", nil, nil); err != nil {
		return err
	}
	values[workStart] = append(values[workStart], float64(time.Since(began).Microseconds())/1e3)

	if err := d.waitReady(ctx); err != nil {
		return err
	}
	session, err := d.createSessions(ctx)
	if err != nil {
		return err
	}
	if resident, ok := residentMiB(d.cmd.Process.Pid); ok {
		values[workResident] = append(values[workResident], resident)
	}
	p99, err := d.stream(ctx, session)
	if err != nil {
		return err
	}
	values[workStream] = append(values[workStream], p99)
	return nil
}

// writeConfig writes a configuration of as many servers as the bench has for a host.
func writeConfig(dir, server string) (string, error) {
	servers := map[string]any{}
	for i := range manyServers {
		servers["bench"+strconv.Itoa(i)] = map[string]any{"command": server, "args": []string{"serve", "-tools", "10"}}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "usher.json")
	return path, os.WriteFile(path, data, 0o600)
}

func startDaemon(ctx context.Context, binary string, args ...string) (*daemon, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct {
		URL       string `json:"url"`
		Addr      string `json:"addr"`
		TokenFile string `json:"tokenFile"`
	}
	d := &daemon{cmd: cmd, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streamClients}}}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		stopErr := d.stop()
		return nil, fmt.Errorf("wait for the line that says it is ready: %w\n%s", errors.Join(err, stopErr), stderr.Bytes())
	}
	token, err := os.ReadFile(ready.TokenFile)
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.url, d.token = "http://"+ready.Addr, strings.TrimSpace(string(token))
	return d, nil
}

func (d *daemon) stop() error {
	d.http.CloseIdleConnections()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	var exit *exec.ExitError
	if err := d.cmd.Wait(); err != nil && !errors.As(err, &exit) { // it ends as a stopped program does
		return err
	}
	return nil
}

func (d *daemon) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what there is of a reason
		return nil, errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text), resp.Body.Close())
	}
	return resp, nil
}

// send does one request and decodes its answer into out, unless that is nil.
func (d *daemon) send(ctx context.Context, method, path string, body, out any) error {
	resp, err := d.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	if out != nil {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	return errors.Join(err, resp.Body.Close())
}

// waitReady waits until all servers are ready.
func (d *daemon) waitReady(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var list api.ServerList
		if err := d.send(ctx, http.MethodGet, "/v1/servers", nil, &list); err != nil {
			return err
		}
		ready := 0
		for _, s := range list.Servers {
			if s.State == "ready" {
				ready++
			}
		}
		if ready == manyServers {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d servers became ready: %w", ready, manyServers, ctx.Err())
		}
	}
}

// createSessions creates the sessions that idle, and returns one.
func (d *daemon) createSessions(ctx context.Context) (string, error) {
	var session api.Session
	for range idleSessions {
		if err := d.send(ctx, http.MethodPost, "/v1/sessions", api.CreateSessionRequest{}, &session); err != nil {
			return "", err
		}
	}
	return session.ID, nil
}

// residentMiB is the memory of a process that is in RAM.
func residentMiB(pid int) (float64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib / 1024, err == nil
		}
	}
	return 0, false
}

// stream has many clients follow one session while messages are posted to it, and returns the 99th percentile of the
// time from the post to the arrival, in milliseconds.
func (d *daemon) stream(ctx context.Context, session string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := "/v1/sessions/" + session
	arrived := make(chan time.Time, streamClients)
	g, gctx := errgroup.WithContext(ctx)
	for range streamClients {
		resp, err := d.request(gctx, http.MethodGet, path+"/events", nil)
		if err != nil {
			return 0, errors.Join(err, cancelAndWait(cancel, g))
		}
		g.Go(func() error { return follow(gctx, resp, arrived) })
	}
	var delays []float64
	for i := range streamEvents {
		posted := time.Now()
		if err := d.send(ctx, http.MethodPost, path+"/messages", api.MessageRequest{Text: fmt.Sprintf("message %d", i)}, nil); err != nil {
			return 0, errors.Join(err, cancelAndWait(cancel, g))
		}
		for range streamClients {
			select {
			case at := <-arrived:
				delays = append(delays, float64(at.Sub(posted).Microseconds())/1e3)
			case <-gctx.Done():
				return 0, errors.Join(fmt.Errorf("%d of %d arrivals: %w", len(delays), streamClients*streamEvents, gctx.Err()), cancelAndWait(cancel, g))
			}
		}
	}
	if err := cancelAndWait(cancel, g); err != nil {
		return 0, err
	}
	slices.Sort(delays)
	return delays[len(delays)*99/100], nil
}

func cancelAndWait(cancel context.CancelFunc, g *errgroup.Group) error {
	cancel()
	return g.Wait()
}

// follow reports the arrival of each message until ctx ends.
func follow(ctx context.Context, resp *http.Response, arrived chan<- time.Time) (err error) {
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	for r := sse.NewReader(resp.Body, 0); ; {
		event, err := r.Next()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow a session: %w", err)
		}
		if !bytes.Contains(event.Data, []byte(`"message.received"`)) {
			continue
		}
		select {
		case arrived <- time.Now():
		case <-ctx.Done():
			return nil
		}
	}
}
