package sse_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/sse"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	sent := []sse.Event{
		{ID: "1", Type: "call.finished", Data: []byte(`{"a":1}`)},
		{ID: "2", Data: []byte("two\nlines\r\nand\ra third and a forged\n\nid: 99\nevent: x\ndata: y")},
		{ID: "2", Type: "host", Data: []byte("")},
		{ID: "3", Data: []byte(strings.Repeat("x", 2<<20))},
		{ID: "4", Data: []byte(" : leading space and colon")},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := sse.NewWriter(w, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for _, e := range sent {
			if err := errors.Join(s.Ping(), s.Retry(time.Second), s.Send(e)); err != nil {
				t.Error(err)
			}
		}
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != sse.ContentType {
		t.Errorf("Content-Type = %q", got)
	}
	reader := sse.NewReader(response.Body, 0)
	for i, want := range sent {
		want.Data = []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(want.Data)))
		got, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != want.ID || got.Type != want.Type || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("event %d: got %s %s with %d bytes, want %s %s with %d", i, got.ID, got.Type, len(got.Data), want.ID, want.Type, len(want.Data))
		}
	}
	if _, err := reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if reader.LastID() != "4" {
		t.Errorf("LastID = %q", reader.LastID())
	}
}

func TestAnIDCannotForgeAnEvent(t *testing.T) {
	s, err := sse.NewWriter(httptest.NewRecorder(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []sse.Event{{ID: "1\ndata: x"}, {Type: "a\rdata: x"}, {ID: "\x00"}} {
		if err := s.Send(e); err == nil {
			t.Errorf("%+v was sent", e)
		}
	}
	if s.Buffered() != 0 {
		t.Error("something of them is in the buffer")
	}
}

func TestReaderFollowsTheStandard(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		want   []sse.Event
	}{
		"line ends":          {"data: a\r\ndata: b\rdata: c\n\r\n", []sse.Event{{Data: []byte("a\nb\nc")}}},
		"byte order mark":    {"\ufeffdata: a\n\n", []sse.Event{{Data: []byte("a")}}},
		"no space":           {"data:a\nevent:b\n\n", []sse.Event{{Type: "b", Data: []byte("a")}}},
		"one space goes":     {"data:  a\n\n", []sse.Event{{Data: []byte(" a")}}},
		"no data, no event":  {"event: a\nid: 7\n\ndata: b\n\n", []sse.Event{{ID: "7", Data: []byte("b")}}},
		"ids stand":          {"id: 1\ndata: a\n\ndata: b\n\n", []sse.Event{{ID: "1", Data: []byte("a")}, {ID: "1", Data: []byte("b")}}},
		"null in an id":      {"id: 1\x00\ndata: a\n\n", []sse.Event{{Data: []byte("a")}}},
		"comments":           {": x\ndata: a\n:\n\n", []sse.Event{{Data: []byte("a")}}},
		"a field alone":      {"data\n\n", []sse.Event{{Data: []byte{}}}},
		"unfinished is lost": {"data: a\n\ndata: b\n", []sse.Event{{Data: []byte("a")}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := sse.NewReader(strings.NewReader(test.stream), 0)
			var got []sse.Event
			for {
				e, err := r.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
				got = append(got, e)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderIsBounded(t *testing.T) {
	for name, stream := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 2000),
		"many lines": strings.Repeat("data: xxxxxxxxxxxxxxxxxxxx\n", 100),
	} {
		if _, err := sse.NewReader(strings.NewReader(stream), 1000).Next(); !errors.Is(err, sse.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client that has stopped reading costs its stream and nothing else.
func TestAWriteToAClientThatDoesNotReadEnds(t *testing.T) {
	failed := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := sse.NewWriter(w, 50*time.Millisecond)
		for chunk := []byte(strings.Repeat("x", 1<<20)); err == nil; {
			err = s.Send(sse.Event{Data: chunk})
		}
		failed <- err
	}))
	defer server.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if err := <-failed; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the write ended with %v", err)
	}
}
