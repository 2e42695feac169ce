package ushertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (c *call) dispatch() {
	switch c.msg.Method {
	case "initialize":
		c.initialize()
	case "server/discover":
		c.discover()
	case "ping":
		c.reply(object{}, false)
	case "logging/setLevel":
		c.peer.mu.Lock()
		c.peer.logLevel = c.params.Level
		c.peer.mu.Unlock()
		c.reply(object{}, false)
	case "tools/list":
		c.list("tools", c.srv.tools())
	case "prompts/list":
		c.list("prompts", prompts())
	case "resources/list":
		c.list("resources", c.srv.resources())
	case "resources/templates/list":
		c.list("resourceTemplates", templates())
	case "tools/call":
		c.callTool()
	case "prompts/get":
		c.prompt()
	case "resources/read":
		c.read()
	case "completion/complete":
		c.complete()
	case "resources/subscribe", "resources/unsubscribe":
		c.peer.mu.Lock()
		c.peer.subscribed[c.params.URI] = c.msg.Method == "resources/subscribe"
		c.peer.mu.Unlock()
		c.reply(object{}, false)
	case "subscriptions/listen":
		c.listen()
	default:
		c.fail(codeNoMethod, "method not found", nil)
	}
}

func (s *server) capabilities(modern bool) object {
	caps := object{"tools": object{"listChanged": true}}
	if !s.opts.undeclared {
		caps["prompts"] = object{"listChanged": true}
		caps["resources"] = object{"subscribe": true, "listChanged": true}
		caps["completions"] = object{}
		if !modern {
			caps["logging"] = object{}
		}
	}
	if s.opts.app != nil && !s.opts.app.hidden {
		caps["extensions"] = object{uiExtension: object{"mimeTypes": []string{appMIME}}}
	}
	return caps
}

func (c *call) initialize() {
	supported := c.srv.versions(true, false)
	version := c.params.ProtocolVersion
	if !slices.Contains(supported, version) {
		version = supported[len(supported)-1]
	}
	c.peer.mu.Lock()
	again := c.peer.version != ""
	c.peer.version, c.peer.declared = version, c.params.Capabilities
	c.peer.mu.Unlock()
	if again {
		c.srv.violation("initialize sent twice")
	}
	result := object{"protocolVersion": version, "capabilities": c.srv.capabilities(false), "serverInfo": serverInfo()}
	if c.srv.opts.instructions != "" {
		result["instructions"] = c.srv.opts.instructions
	}
	c.reply(result, false)
}

func (c *call) discover() {
	result := object{"supportedVersions": c.srv.versions(true, true), "capabilities": c.srv.capabilities(true)}
	if c.srv.opts.instructions != "" {
		result["instructions"] = c.srv.opts.instructions
	}
	c.reply(result, true)
}

// list answers with one page of items. Page n>1 has the cursor "page-n", the second also "" if that is wanted.
func (c *call) list(field string, items []object) {
	o := c.srv.opts
	page := 1
	switch cursor := c.params.Cursor; {
	case cursor == nil:
	case *cursor == "" && o.emptyCursor:
		page = 2
	case *cursor == "stuck" && o.stuckCursor:
		page = o.pages
	default:
		n, err := strconv.Atoi(strings.TrimPrefix(*cursor, "page-"))
		if err != nil || n < 2 || n > o.pages || !strings.HasPrefix(*cursor, "page-") {
			c.fail(codeInvalidParams, "no such cursor", nil)
			return
		}
		page = n
	}
	// Items are dealt out evenly; with more pages than items some pages are empty, which is legal (PAGE-04).
	from, to := len(items)*(page-1)/o.pages, len(items)*page/o.pages
	result := object{field: append([]object{}, items[from:to]...)}
	switch {
	case o.stuckCursor:
		result["nextCursor"] = "stuck"
	case page < o.pages && page == 1 && o.emptyCursor:
		result["nextCursor"] = ""
	case page < o.pages:
		result["nextCursor"] = "page-" + strconv.Itoa(page+1)
	}
	c.reply(result, true)
}

// changeLater adds the tool late after --list-changed-after.
func (p *peer) changeLater(ctx context.Context) {
	d := p.srv.opts.changeAfter
	if d <= 0 {
		return
	}
	p.wg.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.srv.addTool("late")
		case <-ctx.Done():
		}
	})
}

// addTool adds a tool, if it is not there yet, and tells every client that wants to know.
func (s *server) addTool(name string) {
	s.mu.Lock()
	if !slices.Contains(s.extra, name) {
		s.extra = append(s.extra, name)
	}
	s.mu.Unlock()
	s.publish("notifications/tools/list_changed", object{}, func(l *listen) bool { return l.wanted.Notifications.Tools },
		func(*peer) bool { return true })
}

// publish notifies every listen stream that wants it and every legacy client that does.
func (s *server) publish(method string, content object, listens func(*listen) bool, legacy func(*peer) bool) {
	s.mu.Lock()
	peers := make([]*peer, 0, len(s.peers))
	for p := range s.peers {
		peers = append(peers, p)
	}
	s.mu.Unlock()
	for _, p := range peers {
		p.mu.Lock()
		toPeer := p.initialized && legacy(p)
		p.mu.Unlock()
		var streams []*listen
		p.listenMu.Lock()
		for _, l := range p.listens {
			if listens(l) {
				streams = append(streams, l)
			}
		}
		p.listenMu.Unlock()
		if toPeer {
			p.out(notification(method, content))
		}
		for _, l := range streams {
			withID := object{"_meta": object{metaSubscription: l.id}}
			maps.Copy(withID, content)
			l.out(notification(method, withID))
		}
	}
}

// listen acknowledges a subscription and keeps it open until it is cancelled.
func (c *call) listen() {
	l := &listen{id: c.msg.ID, out: c.out, wanted: c.params}
	granted := object{}
	n := c.params.Notifications
	for name, wanted := range map[string]bool{
		"toolsListChanged": n.Tools, "promptsListChanged": n.Prompts, "resourcesListChanged": n.Resources,
	} {
		if wanted {
			granted[name] = true
		}
	}
	if len(n.URIs) > 0 {
		granted["resourceSubscriptions"] = n.URIs
	}
	c.peer.listenMu.Lock()
	c.out(notification("notifications/subscriptions/acknowledged",
		object{"_meta": object{metaSubscription: c.msg.ID}, "notifications": granted}))
	c.peer.listens[string(c.msg.ID)] = l
	c.peer.listenMu.Unlock()
	c.changeLater(c.ctx)
	<-c.ctx.Done()
	c.peer.listenMu.Lock()
	delete(c.peer.listens, string(c.msg.ID))
	c.peer.listenMu.Unlock()
}

func prompts() []object {
	return []object{
		{
			"name": "greet", "title": "Greet", "description": "Greets a person.",
			"arguments": []object{{"name": "name", "description": "Whom to greet", "required": true}},
		},
		{"name": "plain", "description": "Takes no arguments."},
	}
}

func (c *call) prompt() {
	var args map[string]string
	if len(c.params.Arguments) > 0 && json.Unmarshal(c.params.Arguments, &args) != nil {
		c.fail(codeInvalidParams, "prompt arguments are strings", nil)
		return
	}
	text := "Say something."
	switch c.params.Name {
	case "greet":
		if args["name"] == "" {
			c.fail(codeInvalidParams, "greet needs the argument name", nil)
			return
		}
		text = fmt.Sprintf("Say hello to %s.", args["name"])
	case "plain":
	default:
		c.fail(codeInvalidParams, "no such prompt", nil)
		return
	}
	c.reply(object{
		"description": "A prompt of the test server.",
		"messages":    []object{{"role": "user", "content": object{"type": "text", "text": text}}},
	}, false)
}

func (c *call) complete() {
	var all []string
	switch {
	case c.params.Ref.Type == "ref/prompt" && c.params.Ref.Name == "greet" && c.params.Argument.Name == "name":
		all = []string{"Ada", "Alan", "Grace"}
	case c.params.Ref.Type == "ref/resource" && c.params.Ref.URI == templateURI && c.params.Argument.Name == "id":
		all = []string{"1", "10", "2"}
	default:
		c.fail(codeInvalidParams, "nothing to complete there", nil)
		return
	}
	values := []string{}
	for _, v := range all {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(c.params.Argument.Value)) {
			values = append(values, v)
		}
	}
	c.reply(object{"completion": object{"values": values, "total": len(values), "hasMore": false}}, false)
}
