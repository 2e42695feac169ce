package daemon

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/usher-mcp/usher/internal/api"
)

// Auth says who may use a route.
type Auth string

const (
	// AuthNone admits everyone who reaches the daemon by one of its names. Nothing secret is behind these routes.
	AuthNone Auth = "none"
	// AuthCode admits everyone on the daemon's own page; the body holds the one-time code.
	AuthCode Auth = "code"
	// AuthPerson admits a logged-in browser, and a program with the bearer token.
	AuthPerson Auth = "person"
	// AuthBearer admits a program with the bearer token.
	AuthBearer Auth = "bearer"
)

// Route is one row of the table that the mux, the OpenAPI document and the tests of the guard are made from.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux
	Auth    Auth
	Summary string
	Query   []Param
	// Request and Response are values of the wire types, nil for none.
	Request, Response any
	// Status is that of success.
	Status int
	// MaxBody bounds the request's body, in bytes; 0 means 1 MiB.
	MaxBody int64
	// Stream: the answer is an event stream of Response values, unless the query asks otherwise.
	Stream bool

	handle func(*Server, http.ResponseWriter, *http.Request) error
}

// Param is a parameter of a route's query.
type Param struct {
	Name, Type, Doc string
}

// maxCallBody bounds the body of a call: arguments may hold files.
const maxCallBody = 8 << 20

// Routes returns the table, a new copy each time.
func Routes() []Route {
	after := Param{"after", "integer", "only events with greater ids"}
	return []Route{
		{
			Method: "POST", Pattern: "/v1/login", Auth: AuthCode, Summary: "Trade a one-time code for the browser's cookie",
			Request: api.LoginRequest{}, Status: 204, handle: (*Server).login,
		},
		{
			Method: "POST", Pattern: "/v1/login-codes", Auth: AuthBearer, Summary: "Make a one-time code for a browser",
			Response: api.LoginCode{}, Status: 201, handle: (*Server).createLoginCode,
		},
		{
			Method: "GET", Pattern: "/v1/sessions", Auth: AuthPerson, Summary: "List sessions, the last updated first",
			Query: []Param{
				{"cursor", "string", "the nextCursor of the page before"},
				{"limit", "integer", "at most this many, from 1 to 200; 50 otherwise"},
				{"archived", "boolean", "true lists the archived ones in place of the others"},
			},
			Response: api.SessionList{}, Status: 200, handle: (*Server).listSessions,
		},
		{
			Method: "POST", Pattern: "/v1/sessions", Auth: AuthPerson, Summary: "Create a session",
			Request: api.CreateSessionRequest{}, Response: api.Session{}, Status: 201, handle: (*Server).createSession,
		},
		{
			Method: "GET", Pattern: "/v1/sessions/{id}", Auth: AuthPerson, Summary: "One session",
			Response: api.Session{}, Status: 200, handle: (*Server).getSession,
		},
		{
			Method: "PATCH", Pattern: "/v1/sessions/{id}", Auth: AuthPerson, Summary: "Rename or archive a session",
			Request: api.UpdateSessionRequest{}, Response: api.Session{}, Status: 200, handle: (*Server).updateSession,
		},
		{
			Method: "DELETE", Pattern: "/v1/sessions/{id}", Auth: AuthPerson,
			Summary: "Cancel what runs in a session and delete it", Status: 204, handle: (*Server).deleteSession,
		},
		{
			Method: "GET", Pattern: "/v1/sessions/{id}/events", Auth: AuthPerson,
			Summary: "Follow a session's events; with until=now, read them and end",
			Query: []Param{
				after,
				{"until", "string", "now: answer with the events that are there (EventList), and end"},
				{"limit", "integer", "with until=now, at most this many, from 1 to 1000"},
			},
			Response: api.Event{}, Status: 200, Stream: true, handle: (*Server).events,
		},
		{
			Method: "POST", Pattern: "/v1/sessions/{id}/messages", Auth: AuthPerson, Summary: "Send a person's message",
			Request: api.MessageRequest{}, Response: api.Accepted{}, Status: 202, handle: (*Server).createMessage,
		},
		{
			Method: "POST", Pattern: "/v1/sessions/{id}/calls", Auth: AuthPerson, Summary: "Run a tool",
			Request: api.CallRequest{}, Response: api.Accepted{}, Status: 202, MaxBody: maxCallBody, handle: (*Server).createCall,
		},
		{
			Method: "POST", Pattern: "/v1/sessions/{id}/cancel", Auth: AuthPerson,
			Summary: "Cancel a call, or without a callId everything that runs in the session",
			Request: api.CancelRequest{}, Status: 204, handle: (*Server).cancel,
		},
		{
			Method: "POST", Pattern: "/v1/sessions/{id}/compact", Auth: AuthPerson,
			Summary: "Free what the session's apps take, and sum up for the model what was said; the log keeps everything", Response: api.Compacted{}, Status: 200, handle: (*Server).compact,
		},
		{
			Method: "POST", Pattern: "/v1/questions/{id}/answer", Auth: AuthPerson,
			Summary: "Answer a question; the first answer counts, a later one is told who was first",
			Request: api.AnswerRequest{}, Status: 204, handle: (*Server).answer,
		},
		{
			Method: "GET", Pattern: "/v1/servers", Auth: AuthPerson, Summary: "Every server as it stands, in configured order",
			Response: api.ServerList{}, Status: 200, handle: (*Server).listServers,
		},
		{
			Method: "GET", Pattern: "/v1/servers/{name}", Auth: AuthPerson, Summary: "One server as it stands",
			Response: api.Server{}, Status: 200, handle: (*Server).getServer,
		},
		{
			Method: "POST", Pattern: "/v1/servers/{name}/reconnect", Auth: AuthPerson, Summary: "End a server's session and start a new one",
			Response: api.Server{}, Status: 200, handle: act(Host.Reconnect),
		},
		{
			Method: "POST", Pattern: "/v1/servers/{name}/enable", Auth: AuthPerson, Summary: "Turn a server on",
			Response: api.Server{}, Status: 200, handle: act(enable),
		},
		{
			Method: "POST", Pattern: "/v1/servers/{name}/disable", Auth: AuthPerson, Summary: "Turn a server off",
			Response: api.Server{}, Status: 200, handle: act(disable),
		},
		{
			Method: "POST", Pattern: "/v1/servers/{name}/approve", Auth: AuthPerson, Summary: "Allow a server of a project's file to start, as it is configured now",
			Response: api.Server{}, Status: 200, handle: act(Host.Approve),
		},
		{
			Method: "GET", Pattern: "/v1/servers/{name}/stderr", Auth: AuthPerson, Summary: "The tail of a server's standard error",
			Response: api.Stderr{}, Status: 200, handle: (*Server).stderr,
		},
		{
			Method: "GET", Pattern: "/v1/catalog", Auth: AuthPerson, Summary: "Everything the servers offer; answers If-None-Match",
			Response: api.Catalog{}, Status: 200, handle: (*Server).getCatalog,
		},
		{
			Method: "POST", Pattern: "/v1/resources/read", Auth: AuthPerson, Summary: "Read a resource",
			Request: api.ReadRequest{}, Response: api.ReadResponse{}, Status: 200, handle: (*Server).read,
		},
		{
			Method: "POST", Pattern: "/v1/prompts/get", Auth: AuthPerson, Summary: "Get a prompt with its arguments filled in",
			Request: api.PromptRequest{}, Response: api.PromptResponse{}, Status: 200, handle: (*Server).prompt,
		},
		{
			Method: "POST", Pattern: "/v1/complete", Auth: AuthPerson, Summary: "Complete an argument of a prompt or a variable of a resource template",
			Request: api.CompleteRequest{}, Response: api.CompleteResponse{}, Status: 200, handle: (*Server).complete,
		},
		{
			Method: "GET", Pattern: "/v1/status", Auth: AuthPerson, Summary: "The daemon's numbers",
			Response: api.Status{}, Status: 200, handle: (*Server).status,
		},
		{
			Method: "GET", Pattern: "/healthz", Auth: AuthNone, Summary: "Whether the daemon is alive",
			Response: api.Health{}, Status: 200, handle: (*Server).health,
		},
		{
			Method: "GET", Pattern: "/sandbox", Auth: AuthNone, Summary: "The page between the WebShell and an app, which holds nothing secret",
			Query: []Param{
				{"host", "string", "the origin of the page that embeds it"},
				{"csp", "string", "what the app declares that it needs, as JSON"},
			},
			Status: 200, handle: (*Server).sandboxPage,
		},
		{
			Method: "GET", Pattern: "/{path...}", Auth: AuthNone, Summary: "The WebShell", Status: 200, handle: (*Server).page,
		},
	}
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range Routes() {
		mux.HandleFunc(route.Method+" "+route.Pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(route, w, r) })
	}
	// What no route is for. Below /v1/ it says so to those who are logged in alone, as every route there does.
	unknown := Route{Pattern: "/v1/", Auth: AuthPerson, handle: (*Server).unknown}
	mux.HandleFunc("GET /v1/", func(w http.ResponseWriter, r *http.Request) { s.serve(unknown, w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			s.serve(unknown, w, r)
			return
		}
		s.fail(w, r, s.unknown(w, r))
	})
	return mux
}

// unknown answers for paths without a route, and for methods that a path does not have.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, route := range Routes() {
		if route.Pattern == "/{path...}" {
			continue // it takes every path there is
		}
		other := r.Clone(r.Context())
		other.Method = route.Method
		if _, pattern := s.mux.Handler(other); pattern == route.Method+" "+route.Pattern {
			allowed = append(allowed, route.Method)
			if route.Method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	if len(allowed) == 0 {
		return refuse("not_found", fmt.Sprintf("There is no %s.", r.URL.Path), "")
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return refuse(codeMethod, fmt.Sprintf("%s does not do %s.", r.URL.Path, r.Method), "It does: "+strings.Join(allowed, ", ")+".")
}
