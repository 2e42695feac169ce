package cli_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/cli"
)

func TestTraceLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	at := time.Date(2026, 12, 1, 9, 30, 0, 5, time.UTC)
	secrets := config.Server{Env: map[string]config.Secret{"TOKEN": "s3cr3t", "PIN_KEY": "12345678"}}
	frame := func(sent bool, data string) client.Frame {
		return client.Frame{Time: at, Server: "a", Process: "session", Sent: sent, Data: []byte(data)}
	}
	for range 2 { // it is appended to
		if err := cli.Trace(path, secrets,
			frame(true, `{"id": 9007199254740993, "x": "<&> s3cr3t"}`),
			frame(false, "not JSON, s3cr3t\x1b"),
			frame(false, `{"pin":12345678}`),
		); err != nil {
			t.Fatal(err)
		}
	}
	one := `{"t":"2026-12-01T09:30:00.000000005Z","server":"a","process":"session","dir":"send","frame":{"id":9007199254740993,"x":"<&> •••"}}
{"t":"2026-12-01T09:30:00.000000005Z","server":"a","process":"session","dir":"recv","frame":"not JSON, •••\u001b"}
{"t":"2026-12-01T09:30:00.000000005Z","server":"a","process":"session","dir":"recv","frame":"{\"pin\":•••}"}
`
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one+one, string(got)); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	frame := client.Frame{Time: time.Now(), Server: "a", Process: "session", Data: []byte("{}")}
	if err := cli.Trace("/dev/full", config.Server{}, frame, frame); err == nil {
		t.Error("a full disk is not reported")
	}
}
