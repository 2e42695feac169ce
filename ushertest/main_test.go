package ushertest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/ushertest"
)

func TestMain(m *testing.M) {
	ushertest.Main()
	goleak.VerifyTestMain(m)
}
