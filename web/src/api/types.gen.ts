// Code generated from internal/api by go generate; DO NOT EDIT.

/** Problem is the one error shape: {"error": {...}}. */
export interface Problem {
	error: Error;
}

/** Error says what failed, where, and what to do next. Code is one of the codes of docs/errors.md. */
export interface Error {
	code: string;
	message: string;
	server?: string;
	phase?: string;
	hint?: string;
	stderr?: string;
	field?: string;
}

/** LoginRequest trades a one-time code for the session cookie. */
export interface LoginRequest {
	code: string;
}

/** LoginCode is a one-time code that a browser trades for its cookie, and the address that brings it along. */
export interface LoginCode {
	code: string;
	url: string;
	expiresAt: string;
}

/** Session is one conversation. */
export interface Session {
	id: string;
	title: string;
	createdAt: string;
	updatedAt: string;
	archived: boolean;
	lastEventId: number;
}

/** SessionList is a page of sessions, newest first. */
export interface SessionList {
	sessions: Session[];
	nextCursor?: string;
}

/** CreateSessionRequest makes a session; Title may be empty. */
export interface CreateSessionRequest {
	title?: string;
}

/** UpdateSessionRequest changes what is given. */
export interface UpdateSessionRequest {
	title?: string;
	archived?: boolean;
}

/** MessageRequest is a person's message. */
export interface MessageRequest {
	text: string;
}

/** CallRequest runs a tool directly. */
export interface CallRequest {
	server: string;
	tool: string;
	arguments?: unknown;
}

/** Accepted answers 202: the event that records the request, and the call's id where there is one. */
export interface Accepted {
	eventId: number;
	callId?: string;
}

/** CancelRequest cancels one call, or without an id everything that runs in the session. */
export interface CancelRequest {
	callId?: string;
}

/** Compacted says how many app displays lost their html. */
export interface Compacted {
	displays: number;
}

/** Event is one entry of a session's log, and of its stream. Host events (server.changed, catalog.changed) ride the stream with ID 0: they are hints to fetch again, not part of the log. */
export interface Event {
	id: number;
	session: string;
	time: string;
	type: string;
	data: unknown;
}

/** EventList answers GET …/events?until=now. */
export interface EventList {
	events: Event[];
	more: boolean;
}

export const EventSessionCreated = "session.created";
export const EventSessionRenamed = "session.renamed";
export const EventSessionArchived = "session.archived";
export const EventSessionCompacted = "session.compacted";
export const EventMessage = "message.received";
export const EventCallRequested = "call.requested";
export const EventCallStarted = "call.started";
export const EventCallProgressed = "call.progressed";
export const EventCallFinished = "call.finished";
export const EventNotice = "notice.raised";
export const EventServerChanged = "server.changed";
export const EventCatalogChanged = "catalog.changed";

/** SessionRenamed is the data of session.created and session.renamed. */
export interface SessionRenamed {
	title: string;
}

/** SessionArchived is the data of session.archived: whether the session has left the list or come back. */
export interface SessionArchived {
	archived: boolean;
}

/** SessionCompacted is the data of session.compacted: the app displays of events up to Through have lost their html. */
export interface SessionCompacted {
	through: number;
	displays: number;
}

/** MessageReceived is the data of message.received. */
export interface MessageReceived {
	text: string;
}

/** CallRequested is the data of call.requested: who asked for what. */
export interface CallRequested {
	callId: string;
	server: string;
	tool: string;
	title: string;
	arguments: unknown;
	/** person */
	by: string;
}

/** CallStarted is the data of call.started: the request went to the server. */
export interface CallStarted {
	callId: string;
}

/** CallProgressed is the data of call.progressed. Reports are coalesced: the newest wins, at most ten a second. */
export interface CallProgressed {
	callId: string;
	progress: number;
	total?: number;
	message?: string;
}

export const OutcomeResult = "result";
export const OutcomeToolError = "tool_error";
export const OutcomeError = "error";
export const OutcomeCancelled = "cancelled";
/** the daemon or the connection went away before the answer */
export const OutcomeUnknown = "unknown";

/** CallFinished is the data of call.finished. Display carries no toolInput and toolResult here: they are call.requested's arguments and this event's result. */
export interface CallFinished {
	callId: string;
	outcome: string;
	/** the CallToolResult as sent */
	result?: unknown;
	display?: Display;
	error?: Error;
	era?: string;
	protocolVersion?: string;
	durationMs: number;
	warnings?: string[];
}

/** Display says how a result is shown: text, image, resource or mcp_app. Text, image and resource point at the result's content. An mcp_app with empty html was compacted: show fallbackText, mount nothing. */
export interface Display {
	type: string;
	fallbackText: string;
	problem?: string;
	server?: string;
	tool?: string;
	resourceUri?: string;
	html: string;
	csp?: unknown;
	permissions?: unknown;
	prefersBorder?: boolean;
}

/** NoticeRaised is the data of notice.raised: something the person should know. */
export interface NoticeRaised {
	/** info, warning, error */
	level: string;
	text: string;
}

/** HostChanged is the data of server.changed and catalog.changed. */
export interface HostChanged {
	server?: string;
	state?: string;
	revision: number;
}

/** Server is one server as it stands. */
export interface Server {
	name: string;
	state: string;
	since: string;
	error?: Error;
	/** stdio, http, sse, ws */
	transport: string;
	era?: string;
	protocolVersion?: string;
	serverName?: string;
	serverTitle?: string;
	serverVersion?: string;
	instructions?: string;
	capabilities?: unknown;
	negotiation: Negotiation;
	pid?: number;
	starts: number;
	connectedMs: number;
	tools: number;
	prompts: number;
	resources: number;
	warnings?: string[];
	description?: string;
	settings: Setting[];
	rejected?: Rejected[];
}

/** Negotiation tells how the era was chosen. */
export interface Negotiation {
	/** legacy, auto */
	policy: string;
	probed: boolean;
	verdict?: string;
	reason?: string;
	probeMs?: number;
}

/** Setting is one effective setting of a server and where it came from; secrets are masked. */
export interface Setting {
	name: string;
	value: string;
	/** "default", or file:line */
	source: string;
}

/** Rejected is a list item that could not be used. */
export interface Rejected {
	kind: string;
	name: string;
	reason: string;
}

/** ServerList is every server, in configured order. */
export interface ServerList {
	servers: Server[];
}

/** Stderr is the tail of a server's standard error. */
export interface Stderr {
	text: string;
	truncated: boolean;
}

/** Catalog is everything the ready servers offer. */
export interface Catalog {
	revision: number;
	tools: Tool[];
	prompts: Prompt[];
	resources: Resource[];
	templates: Template[];
}

/** Tool is one tool of the catalog. */
export interface Tool {
	server: string;
	name: string;
	label: string;
	title: string;
	description?: string;
	inputSchema?: unknown;
	outputSchema?: unknown;
	annotations?: unknown;
	appUri?: string;
	appProblem?: string;
	forModel: boolean;
}

/** Prompt is one prompt of the catalog. */
export interface Prompt {
	server: string;
	name: string;
	title: string;
	description?: string;
	arguments: PromptArgument[];
}

/** PromptArgument is one argument of a prompt. */
export interface PromptArgument {
	name: string;
	title?: string;
	description?: string;
	required: boolean;
}

/** Resource is one resource of the catalog. */
export interface Resource {
	server: string;
	uri: string;
	name: string;
	title: string;
	description?: string;
	mimeType?: string;
	size?: number;
}

/** Template is one resource template of the catalog. */
export interface Template {
	server: string;
	uriTemplate: string;
	name: string;
	title: string;
	description?: string;
	mimeType?: string;
}

/** ReadRequest reads one resource. */
export interface ReadRequest {
	server: string;
	uri: string;
}

/** ReadResponse holds the contents as sent. */
export interface ReadResponse {
	contents: unknown[];
}

/** PromptRequest gets one prompt. */
export interface PromptRequest {
	server: string;
	name: string;
	arguments?: Record<string, string>;
}

/** PromptResponse holds the messages as sent. */
export interface PromptResponse {
	description?: string;
	messages: unknown[];
}

/** CompleteRequest asks for completions of a prompt argument or a template variable. */
export interface CompleteRequest {
	server: string;
	prompt?: string;
	template?: string;
	argument: string;
	value: string;
	context?: Record<string, string>;
}

/** CompleteResponse holds at most 100 values. */
export interface CompleteResponse {
	values: string[];
	hasMore: boolean;
}

/** Health answers GET /healthz: the daemon is alive. */
export interface Health {
	/** ok */
	status: string;
}

/** Status are the daemon's numbers. */
export interface Status {
	version: string;
	startedAt: string;
	servers: number;
	serversReady: number;
	sessions: number;
	callsRunning: number;
	eventClients: number;
	catalogRevision: number;
	/** SandboxSwap is true when both loopback addresses on the port are this daemon's, so that the page may load app frames from the other loopback name. */
	sandboxSwap: boolean;
}
