package client_test

import (
	"testing"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// awaitListen waits until the server has got the session's listen. fx takes one message after the other, so that
// whatever is sent from then on finds the subscription open.
func awaitListen(t *testing.T, s *client.Session, spec config.Server) {
	t.Helper()
	for len(ushertest.ReadLog(t, spec).Received("subscriptions/listen")) == 0 {
		if _, err := s.Call(t.Context(), "echo", []byte(`{"message":"wait"}`), client.CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// listening speaks a modern server up to the acknowledged listen, whose request it returns.
func listening(p *scripted, ack string) message {
	p.answer(p.expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}],"ttlMs":60000,"cacheScope":"private"}`)
	m := p.expect("subscriptions/listen")
	p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`, m.ID, ack)
	return m
}

const announcing = `{"tools":{"listChanged":true},"prompts":{}}`

// TestListenAsksForWhatIsAnnounced is SUB-01 and SUB-02, and SUB-12 for the end.
func TestListenAsksForWhatIsAnnounced(t *testing.T) {
	asked := make(chan string, 1)
	left := make(chan string, 1)
	l := script(t, discoverable(announcing), func(p *scripted) {
		m := listening(p, `{"toolsListChanged":true}`)
		asked <- member(m.Params, "notifications")
		m, _ = p.receive()
		left <- m.Method
		p.drain()
	})
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l})
	must(s.Tools(t.Context()))
	if got := <-asked; got != `{"toolsListChanged":true}` {
		t.Errorf("asked for %s", got)
	}
	closeSession(t, s)
	if got := <-left; got != "notifications/cancelled" {
		t.Errorf("the end was told by %q", got)
	}
}

// TestOnlyTheOwnSubscriptionCounts is SUB-05 and SUB-06: a notice of another subscription is for nobody.
func TestOnlyTheOwnSubscriptionCounts(t *testing.T) {
	changed := make(chan string, 10)
	l := script(t, discoverable(announcing), func(p *scripted) {
		m := listening(p, `{"toolsListChanged":true}`)
		notice := `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
		p.send(notice, "prompts", `"other"`)
		p.send(notice, "prompts", `7`)
		p.send(notice, "tools", m.ID)
		p.drain()
	})
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, OnListChanged: func(kind string) { changed <- kind }})
	must(s.Tools(t.Context()))
	if kind := <-changed; kind != "tools" {
		t.Errorf("a notice of another subscription came through: %q", kind)
	}
}

// TestListenEndsAndComesBack: whichever way the server ends it, the listen is opened again, everything is taken as
// changed then, and nothing kept meanwhile is served (SUB-14, SUB-16, SUB-17, CACHE-16).
func TestListenEndsAndComesBack(t *testing.T) {
	for name, end := range map[string]func(*scripted, message){
		"by a result": func(p *scripted, m message) { p.answer(m, `{"resultType":"complete"}`) },
		"by cancelling": func(p *scripted, m message) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID)
		},
		"by both": func(p *scripted, m message) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID)
			p.answer(m, `{"resultType":"complete"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := make(chan string, 10)
			l := script(t, discoverable(announcing), func(p *scripted) {
				end(p, listening(p, `{"toolsListChanged":true}`))
				m := p.expect("subscriptions/listen")
				p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
				p.answer(p.expect("tools/list"), `{"resultType":"complete","tools":[{"name":"b"}]}`)
				p.drain()
			})
			s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, OnListChanged: func(kind string) { changed <- kind }})
			must(s.Tools(t.Context()))
			if kind := <-changed; kind != "tools" {
				t.Errorf("kind %q", kind)
			}
			if got := names(must(s.Tools(t.Context()))); len(got) != 1 || got[0] != "b" {
				t.Errorf("after the gap: %v", got)
			}
		})
	}
}

// TestListenRefused is SUB-19: one attempt, a warning, and the session goes on.
func TestListenRefused(t *testing.T) {
	refused := make(chan struct{})
	l := script(t, discoverable(announcing), func(p *scripted) {
		p.answer(p.expect("tools/list"), `{"tools":[]}`)
		p.refuse(p.expect("subscriptions/listen"), -32601, `null`)
		close(refused)
		p.answer(p.expect("tools/list"), `{"tools":[]}`)
		p.drain()
	})
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l})
	must(s.Tools(t.Context()))
	<-refused
	must(s.Tools(t.Context()))
}

// TestSubscribe is LEG-30 and SUB-21: one API for both eras.
func TestSubscribe(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		updated := make(chan string, 10)
		s, log := open(client.Options{OnResourceUpdated: func(uri string) { updated <- uri }}, "--ttl", "60000")
		must(s.Tools(t.Context())) // a modern session listens for lists already
		if err := s.Subscribe(t.Context(), "fx://readme"); err != nil {
			t.Fatal(err)
		}
		must(s.ReadResource(t.Context(), "fx://readme"))
		if _, err := s.Call(t.Context(), "update_resource", []byte(`{"uri":"fx://readme"}`), client.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if uri := <-updated; uri != "fx://readme" {
			t.Errorf("updated %q", uri)
		}
		if must(s.ReadResource(t.Context(), "fx://readme")).FromCache {
			t.Error("the resource was read from the cache after its update (CACHE-13)")
		}
		if err := s.Unsubscribe(t.Context(), "fx://readme"); err != nil {
			t.Fatal(err)
		}
		if s.Era() == client.Modern && len(log().Received("resources/subscribe")) != 0 {
			t.Error("a modern server got resources/subscribe")
		}
		if v := log().Violations(); len(v) != 0 {
			t.Error(v)
		}
	})
}

func TestSubscribeWithoutASubscription(t *testing.T) {
	l := script(t, discoverable(`{"resources":{}}`), func(p *scripted) { p.drain() })
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l})
	wantError(t, s.Subscribe(t.Context(), "a://b"), client.PhaseRead, client.CodeUnsupported)

	l = script(t, discoverable(`{"resources":{"subscribe":true}}`), func(p *scripted) {
		m := p.expect("subscriptions/listen")
		p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`, m.ID)
		p.drain()
	})
	s = dial(t, auto(scriptedServer()), client.Options{Launcher: l})
	wantError(t, s.Subscribe(t.Context(), "a://b"), client.PhaseRead, client.CodeUnsupported)
}
