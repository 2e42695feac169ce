package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/wire"
)

// Who waits for an answer does not wait while a server prints for ever; what it prints between messages costs nothing.
func TestEndlessNoiseEndsTheConnection(t *testing.T) {
	c, p := connect(t, wire.Config{})
	junk := strings.Repeat(strings.Repeat("x", 1023)+"\n", 1<<10) // 1 MiB
	for range 2 {
		wait := do(t, c, wire.Request{})
		id := string(p.receive().ID)
		for range 40 {
			p.send(junk)
		}
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		if _, err := wait(); err != nil {
			t.Fatalf("80 MiB in two parts: %v", err)
		}
	}
	wait := do(t, c, wire.Request{})
	p.receive()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for {
			if _, err := io.WriteString(p.out, junk); err != nil {
				return
			}
		}
	}()
	_, err := wait()
	if !errors.Is(err, wire.ErrNoise) {
		t.Errorf("error %v", err)
	}
	c.Close()
	<-sent
}
