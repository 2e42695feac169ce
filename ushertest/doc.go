// Package ushertest provides fx, an MCP server made for tests of MCP clients and hosts.
//
// fx speaks either protocol era or both, over stdio, in memory and over Streamable HTTP. It is written in plain JSON-RPC
// lines without an SDK, so that flags can make it misbehave: stay silent, exit, answer late, print noise, ignore signals,
// leave children behind. It logs every frame it receives and sends, with the environment it saw, and that log is the
// oracle: a test asserts what the server saw, not what the client says it did.
//
// A test binary becomes fx by calling Main first thing in TestMain:
//
//	func TestMain(m *testing.M) {
//		ushertest.Main()
//		os.Exit(m.Run())
//	}
//
//	func TestCall(t *testing.T) {
//		server := ushertest.Command(t, "--era", "legacy", "--delay", "tools/call=2s")
//		// … connect to server with the client under test and call the tool "echo" …
//		log := ushertest.ReadLog(t, server)
//		if got := log.Received("tools/call"); len(got) != 1 {
//			t.Errorf("the server saw %d calls", len(got))
//		}
//	}
//
// # What it offers
//
// Tools: echo, add, slow, fail, big, image, structured, change_tools, update_resource; with --elicit also ask, ask_url,
// ask_model and ask_roots; with --app also app_dashboard. Prompts: greet, plain. Resources: fx://readme, fx://pixel, and
// the template fx://item/{id}. Completion: the argument of greet and of the template.
//
// # Flags
//
// METHOD is a JSON-RPC method, DUR a Go duration. A flag that names a METHOD can be repeated. A wrong flag is an error on
// stderr and exit status 2.
//
//	--era legacy|modern|both     which eras to speak (both)
//	--versions V,V               the protocol versions to support, in place of all known ones of the era
//	--silent METHOD              never answer
//	--exit-on METHOD[=STATUS]    exit when it arrives, with status 1 or the given one
//	--error METHOD=CODE[:TEXT]   answer with this JSON-RPC error
//	--error-data METHOD=JSON     the data of that error
//	--result METHOD=JSON         answer with this result, verbatim
//	--raw METHOD=TEXT            answer with this line, verbatim but for {{id}}, the request's id
//	--delay METHOD=DUR           answer so much later; cancellation cuts it short and no answer follows
//	--answer-cancelled           answer even then, as a server that does not know of cancellation
//	--noise stdout|stderr[:N]    stdout: junk before and between frames; stderr: N bytes (64KB) at start. N takes KB and MB
//	--banner[=TEXT]              one plain line on stdout at start
//	--child[=setsid]             start a process that ignores all but SIGKILL and outlives this one
//	--ignore-eof                 go on when stdin ends
//	--ignore-term                go on when SIGTERM arrives
//	--lock FILE                  exit with status 75 when another fx holds FILE
//	--pages N                    give every list in N pages
//	--stuck-cursor               give the same cursor for ever
//	--empty-cursor               the first page's cursor is ""
//	--undeclared                 declare no capability but tools, and answer the others all the same
//	--schema FILE                the input schema of echo
//	--names FILE                 more tools, one name a line, each as echo
//	--result-bytes N             how much text big returns (1 KB)
//	--content KIND,…             what a tool's result holds: text, image, audio, link, embedded, structured, unknown
//	--is-error                   every tool result is an error
//	--progress DUR               report progress that often while a delayed call waits
//	--list-changed-after DUR     add the tool late and say so, counted from initialized or listen
//	--ttl MS, --scope S          cache hints of modern lists and reads (0, private)
//	--app[=OPTION,…]             the app tool and its ui:// resource; options mime=TYPE, size=N, missing, error, blob,
//	                             binary, uri=OTHER (the content's uri), flat (the old key), csp, listed (metadata in
//	                             resources/list alone), undeclared, app-only
//	--instructions TEXT          what initialize and server/discover say of the server
//	--elicit[=KIND,…]            tools that ask: form (default), url, sampling, roots; 'all' for each
//	--rounds N                   how many rounds a modern question takes (1)
//	--log FILE                   append the log to FILE
//	--http ADDR                  serve Streamable HTTP on ADDR; the log's "listen" record tells the URL
//	--forget-session-after N     HTTP legacy: a session is unknown after N requests
//	--drop-stream-after DUR      HTTP: cut every event stream that old
//	--redirect URL               HTTP: answer every request with 307 to URL
package ushertest
