package ushertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

func schema(required []string, properties object) object {
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func echoSchema() object {
	return schema([]string{"message"}, object{"message": object{"type": "string", "description": "What to say back"}})
}

// tools lists the tools in a fixed order; those added while running come last.
func (s *server) tools() []object {
	o := s.opts
	var echoInput any = echoSchema()
	if o.schema != nil {
		echoInput = o.schema
	}
	readOnly := object{"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false}
	list := []object{
		{
			"name": "echo", "title": "Echo", "description": "Says back what it is told.", "inputSchema": echoInput,
			"annotations": readOnly,
		},
		{
			"name": "add", "description": "Adds two numbers.", "annotations": readOnly,
			"inputSchema":  schema([]string{"a", "b"}, object{"a": object{"type": "number"}, "b": object{"type": "number"}}),
			"outputSchema": schema([]string{"sum"}, object{"sum": object{"type": "number"}}),
		},
		{
			"name": "slow", "description": "Takes its time and reports progress.", "inputSchema": schema(nil, object{
				"ms":    object{"type": "integer", "description": "How long, in milliseconds (1000)", "minimum": 0, "maximum": 600000},
				"steps": object{"type": "integer", "description": "How many reports (10)", "minimum": 1, "maximum": 100000},
			}),
		},
		{"name": "fail", "description": "Always fails, as a tool does.", "inputSchema": schema(nil, object{})},
		{
			"name": "big", "description": "Returns much text.",
			"inputSchema": schema(nil, object{"bytes": object{"type": "integer", "minimum": 0}}),
		},
		{"name": "image", "description": "Returns an image.", "inputSchema": schema(nil, object{})},
		{"name": "structured", "description": "Returns structured content.", "inputSchema": schema(nil, object{})},
		{
			"name": "change_tools", "description": "Adds a tool and says that the list changed.",
			"inputSchema": schema([]string{"name"}, object{"name": object{"type": "string"}}),
		},
		{
			"name": "update_resource", "description": "Says that a resource changed.",
			"inputSchema": schema([]string{"uri"}, object{"uri": object{"type": "string"}}),
		},
	}
	for _, kind := range o.elicit {
		list = append(list, object{
			"name": questionTools()[kind], "description": "Asks before it answers.", "inputSchema": schema(nil, object{}),
		})
	}
	if o.app != nil {
		list = append(list, o.app.tool())
	}
	s.mu.Lock()
	extra := slices.Concat(o.names, s.extra)
	s.mu.Unlock()
	for _, name := range extra {
		list = append(list, object{"name": name, "description": "As echo.", "inputSchema": echoSchema()})
	}
	return list
}

func (a *appOptions) tool() object {
	ui := object{"resourceUri": appURI}
	if a.appOnly {
		ui["visibility"] = []string{"app"}
	}
	meta := object{"ui": ui}
	if a.flat {
		meta = object{"ui/resourceUri": appURI}
	}
	return object{
		"name": "app_dashboard", "title": "Dashboard", "description": "Shows a dashboard.", "_meta": meta,
		"inputSchema": schema(nil, object{"title": object{"type": "string"}}),
	}
}

// arguments are the arguments of all tools.
type arguments struct {
	Message string      `json:"message"`
	A       json.Number `json:"a"`
	B       json.Number `json:"b"`
	MS      *int        `json:"ms"`
	Steps   *int        `json:"steps"`
	Bytes   *int        `json:"bytes"`
	Name    string      `json:"name"`
	URI     string      `json:"uri"`
	Title   string      `json:"title"`
}

func (c *call) callTool() {
	o := c.srv.opts
	var args arguments
	if len(c.params.Arguments) > 0 {
		if err := json.Unmarshal(c.params.Arguments, &args); err != nil {
			c.fail(codeInvalidParams, "arguments: "+err.Error(), nil)
			return
		}
	}
	switch name := c.params.Name; name {
	case "add":
		c.add(args)
	case "slow":
		c.slow(args)
	case "fail":
		c.finish(object{"content": texts("this tool always fails"), "isError": true})
	case "big":
		n := o.resultBytes
		if args.Bytes != nil {
			n = *args.Bytes
		}
		if n < 0 || n > 1<<30 {
			c.fail(codeInvalidParams, "bytes must be between 0 and 1 GiB", nil)
			return
		}
		c.finish(object{"content": texts(strings.Repeat("x", n))})
	case "image":
		c.finish(object{"content": []object{block("image")}})
	case "structured":
		// The integer is beyond what a float64 holds, and the keys are not sorted.
		c.finish(object{
			"content":           texts("see the structured content"),
			"structuredContent": json.RawMessage(`{"zeta":1,"alpha":9007199254740993,"nested":{"b":[1.50,null],"a":"<&>"}}`),
		})
	case "change_tools":
		if args.Name == "" {
			c.fail(codeInvalidParams, "name is missing", nil)
			return
		}
		c.srv.addTool(args.Name)
		c.finish(object{"content": texts("added " + args.Name)})
	case "update_resource":
		c.srv.publish("notifications/resources/updated", object{"uri": args.URI},
			func(l *listen) bool { return slices.Contains(l.wanted.Notifications.URIs, args.URI) },
			func(p *peer) bool { return p.subscribed[args.URI] })
		c.finish(object{"content": texts("updated " + args.URI)})
	case "app_dashboard":
		if o.app == nil {
			c.fail(codeInvalidParams, "no such tool", nil)
			return
		}
		c.finish(object{
			"content":           texts("Dashboard " + args.Title),
			"structuredContent": object{"title": args.Title, "revenue": []int{12, 19, 7}},
		})
	default:
		if kind := questionKind(o, name); kind != "" {
			c.question(kind)
			return
		}
		c.srv.mu.Lock()
		known := name == "echo" || slices.Contains(o.names, name) || slices.Contains(c.srv.extra, name)
		c.srv.mu.Unlock()
		if !known {
			c.fail(codeInvalidParams, fmt.Sprintf("no tool %q", name), nil)
			return
		}
		c.finish(object{"content": texts(args.Message)})
	}
}

func (c *call) add(args arguments) {
	a, errA := args.A.Float64()
	b, errB := args.B.Float64()
	if errA != nil || errB != nil {
		c.finish(object{"content": texts("a and b must be numbers"), "isError": true})
		return
	}
	c.finish(object{"content": texts(fmt.Sprint(a + b)), "structuredContent": object{"sum": a + b}})
}

func (c *call) slow(args arguments) {
	total, steps := time.Second, 10
	if args.MS != nil {
		total = time.Duration(*args.MS) * time.Millisecond
	}
	if args.Steps != nil {
		steps = *args.Steps
	}
	if total < 0 || total > 10*time.Minute || steps < 1 || steps > 100_000 {
		c.fail(codeInvalidParams, "ms or steps out of range", nil)
		return
	}
	all := float64(steps)
	for n := 1; n <= steps; n++ {
		timer := time.NewTimer(total / time.Duration(steps))
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
			return
		}
		c.progress(float64(n), &all, fmt.Sprintf("step %d of %d", n, steps))
		c.logf("step %d of %d", n, steps)
	}
	c.finish(object{"content": texts(fmt.Sprintf("done after %d steps", steps))})
}

// finish answers a call after --content and --is-error had their say.
func (c *call) finish(result object) {
	o := c.srv.opts
	if len(o.content) > 0 {
		blocks := []object{}
		for _, kind := range o.content {
			if kind == "structured" {
				result["structuredContent"] = object{"kind": "structured"}
				continue
			}
			blocks = append(blocks, block(kind))
		}
		result["content"] = blocks
	}
	if o.isError {
		result["isError"] = true
	}
	if c.ctx.Err() != nil && !o.answerCancelled {
		return
	}
	c.reply(result, false)
}

func texts(text string) []object { return []object{{"type": "text", "text": text}} }

// block is a sample content block of one kind.
func block(kind string) object {
	switch kind {
	case "image":
		return object{"type": "image", "data": pixel, "mimeType": "image/png"}
	case "audio":
		return object{"type": "audio", "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", "mimeType": "audio/wav"}
	case "link":
		return object{"type": "resource_link", "uri": readmeURI, "name": "readme", "mimeType": "text/plain"}
	case "embedded":
		return object{"type": "resource", "resource": object{"uri": readmeURI, "mimeType": "text/plain", "text": readme}}
	case "unknown":
		return object{"type": "hologram", "depth": 3}
	default:
		return object{"type": "text", "text": "some text"}
	}
}
