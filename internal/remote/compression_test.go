package remote_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/remote"
)

// TestCompressedAnswersAreBoundedByWhatTheyBecome is HTTP-22: a few compressed bytes that become many count as many.
func TestCompressedAnswersAreBoundedByWhatTheyBecome(t *testing.T) {
	for contentType, around := range map[string][2]string{
		"application/json":  {`{"jsonrpc":"2.0","id":"u1","result":"`, `"}`},
		"text/event-stream": {`data: "`, "\"\n\n"},
	} {
		t.Run(contentType, func(t *testing.T) {
			written := 0
			_, _, got, err := post(t, remote.Options{MaxAnswer: 100 << 10}, callBody, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept-Encoding") != "gzip" {
					t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
				}
				w.Header().Set("Content-Type", contentType)
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, around[0]+strings.Repeat("x", 200<<10)+around[1])
				_ = z.Close()
				written++
			})
			bad, isAnswer := errors.AsType[*remote.AnswerError](err)
			if err == nil || isAnswer && !strings.Contains(bad.Reason, "102400") || len(got) > 100<<10 || written != 1 {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
}
