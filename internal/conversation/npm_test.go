package conversation_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// npmServer is the program of a sample server; the test is skipped where it is not installed, unless
// USHER_REQUIRE_NODE is set.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(path)
	if _, err := exec.LookPath("node"); err != nil || missing != nil {
		if os.Getenv("USHER_REQUIRE_NODE") != "" {
			t.Fatalf("%s is not installed: npm ci", name)
		}
		t.Skipf("%s is not installed: npm ci", name)
	}
	return path
}
