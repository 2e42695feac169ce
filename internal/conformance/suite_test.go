package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/conformance"
)

// clientVar makes the test binary a client: the one under test, or one that the tests of this test need.
const clientVar = "USHER_CONFORMANCE_CLIENT"

const clientUnderTest = "usher"

// scenarioTime bounds one scenario in the suite, in milliseconds. A machine that is busy needs a good part of it for
// starting Node alone.
const scenarioTime = "60000"

func TestMain(m *testing.M) {
	client := os.Getenv(clientVar)
	if client == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	run := conformance.Run
	if client != clientUnderTest {
		run = control(client)
	}
	err := run(ctx, conformance.Scenario{
		Name:    os.Getenv("MCP_CONFORMANCE_SCENARIO"),
		Version: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"),
		Context: json.RawMessage(os.Getenv("MCP_CONFORMANCE_CONTEXT")),
		URL:     os.Args[len(os.Args)-1],
	})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// released are the versions of the specification that have scenarios of their own.
var released = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// TestClientScenarios runs each scenario at each version it has. Extensions are no part of a version; they run at the
// suite's own choice of one.
func TestClientScenarios(t *testing.T) {
	s := newSuite(t, clientUnderTest)
	expected := readExpected(t)
	known := map[string]bool{}
	for _, sc := range s.scenarios(t) {
		known[sc.String()] = true
		t.Run(sc.String(), func(t *testing.T) {
			t.Parallel()
			got := s.run(t, sc)
			reason, listed := expected[sc.String()]
			switch {
			case got.problem == "" && listed:
				t.Errorf("passes now (%d checks): take it off testdata/expected-failures.txt", got.passed)
			case got.problem == "":
				t.Logf("%d checks passed", got.passed)
			case listed:
				t.Logf("fails as expected: %s\n%s", reason, got.problem)
			default:
				t.Errorf("%s\n%s", got.problem, got.output)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if !known[name] {
			t.Errorf("testdata/expected-failures.txt lists %s, which the suite does not have", name)
		}
	}
}

// readExpected reads the scenarios that cannot pass yet, with their reasons: one "version name: reason" a line.
func readExpected(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/expected-failures.txt")
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Fatalf("testdata/expected-failures.txt: want \"VERSION SCENARIO: REASON\", got %q", line)
		}
		if _, twice := expected[name]; twice {
			t.Fatalf("testdata/expected-failures.txt lists %s twice", name)
		}
		expected[name] = reason
	}
	return expected
}

// scenario is one scenario at one version; the version is "extension" for those that belong to none.
type scenario struct{ name, version string }

func (s scenario) String() string { return s.version + " " + s.name }

// suite is the installed conformance suite.
type suite struct {
	node, script, preload string
	binary, client        string // the test binary, and which client it is
}

// newSuite finds the suite. Without it the test is skipped, or fails when USHER_REQUIRE_NODE is set.
func newSuite(t *testing.T, client string) *suite {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{
		node:    filepath.Join(dir, "node_modules", ".bin", "node"),
		script:  filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		preload: "file://" + filepath.ToSlash(filepath.Join(dir, "loopback.mjs")),
		binary:  binary,
		client:  client,
	}
	for _, path := range []string{s.node, s.script} {
		if _, err := os.Stat(path); err != nil {
			missing := t.Skipf
			if os.Getenv("USHER_REQUIRE_NODE") != "" {
				missing = t.Fatalf
			}
			missing("the conformance suite is not installed (npm ci in internal/conformance/testdata): %v", err)
		}
	}
	return s
}

// command runs the suite with these arguments, on the loopback interface alone.
func (s *suite) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.node, append([]string{"--import", s.preload, s.script}, args...)...)
	cmd.Env = append(os.Environ(), clientVar+"="+s.client, "NO_COLOR=1")
	// The client is a grandchild that holds the output; do not wait for it when the suite was stopped.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// listed matches a line such as "  - tools_call [2025-11-25,2026-07-28]".
var listed = regexp.MustCompile(`^ +- (\S+) \[([^\]]*)\]`)

// scenarios asks the suite what it has.
func (s *suite) scenarios(t *testing.T) []scenario {
	t.Helper()
	out, err := s.command(t.Context(), "list", "--client").Output()
	if err != nil {
		t.Fatalf("list the scenarios: %v", err)
	}
	var all []scenario
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := listed.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		for version := range strings.SplitSeq(m[2], ",") {
			if version != "extension" && !slices.Contains(released, version) {
				t.Fatalf("scenario %s is of version %q, which this test does not know", m[1], version)
			}
			all = append(all, scenario{m[1], version})
		}
	}
	if len(all) < 20 {
		t.Fatalf("the suite lists only %d scenarios; its output was\n%s", len(all), out)
	}
	return all
}

// outcome of one run. problem is empty when it passed.
type outcome struct {
	passed  int
	problem string
	output  []byte
}

// run plays one scenario in a process of its own, so that its exit code counts.
func (s *suite) run(t *testing.T, sc scenario) outcome {
	t.Helper()
	dir := t.TempDir()
	args := []string{"client", "--command", s.binary, "--scenario", sc.name, "--timeout", scenarioTime, "-o", dir}
	if sc.version != "extension" {
		args = append(args, "--spec-version", sc.version)
	}
	out, err := s.command(t.Context(), args...).CombinedOutput()
	o := outcome{output: out}
	failed, err2 := o.read(dir)
	switch {
	case err2 != nil:
		o.problem = fmt.Sprintf("no result: %v (the suite ended with: %v)", err2, err)
	case len(failed) > 0:
		o.problem = fmt.Sprintf("%d checks failed: %s", len(failed), strings.Join(failed, ", "))
	case err != nil:
		o.problem = fmt.Sprintf("the client or the suite failed: %v", err)
	case o.passed == 0:
		o.problem = "nothing was checked"
	}
	return o
}

// read collects what the suite wrote about its checks: how many passed, and the names of those that failed.
func (o *outcome) read(dir string) (failed []string, err error) {
	var files []string
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "checks.json" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("the suite wrote %d files of checks, want 1", len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var checks []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("read the checks: %w", err)
	}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			o.passed++
		case "FAILURE":
			failed = append(failed, c.ID)
		case "SKIPPED", "WARNING", "INFO":
		default:
			return nil, fmt.Errorf("check %s has the unknown status %q", c.ID, c.Status)
		}
	}
	return failed, nil
}
