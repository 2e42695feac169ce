package client

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
)

// TestDocumentedBudgets computes the table of docs/protocol.md anew (M4).
func TestDocumentedBudgets(t *testing.T) {
	content, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (absent|\d+) \| (\S+) \| (\S+) \|$`).FindAllSubmatch(content, -1)
	if len(rows) < 10 {
		t.Fatalf("the table has %d rows that can be read", len(rows))
	}
	for _, row := range rows {
		spec := config.Server{Command: "x"}
		if ms, err := strconv.Atoi(string(row[1])); err == nil {
			spec.DiscoveryTimeout = time.Duration(ms) * time.Millisecond
		}
		window, probe := spec.ConnectWindow(), "none"
		if budget := probeBudget(window); budget > 0 {
			probe = budget.String()
		}
		if window.String() != string(row[2]) || probe != string(row[3]) {
			t.Errorf("discoveryTimeoutMs %s: the document says %s and %s, it is %s and %s", row[1], row[2], row[3], window, probe)
		}
	}
}
