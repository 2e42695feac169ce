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
	/** Questions is how many questions to a person wait in it. */
	questions: number;
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

/** Accepted answers 202: the event that records the request, and the call's id where there is one. What a message starts is seen in the events. */
export interface Accepted {
	eventId: number;
	callId?: string;
}

/** CancelRequest cancels one call, or without an id everything that runs in the session. */
export interface CancelRequest {
	callId?: string;
}

/** Compacted says how many app displays lost their html, and whether the model's view was replaced by a summary. */
export interface Compacted {
	displays: number;
	summarized: boolean;
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

/** SessionCompacted is the data of session.compacted: the app displays of events up to Through have lost their html. With a summary, that is what the model sees from now on in the place of all events up to Summarized; the events stay. */
export interface SessionCompacted {
	through: number;
	displays: number;
	summarized?: number;
	summary?: string;
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
	/** person, model */
	by: string;
	/** TurnID and Step say which step of a turn asked for it, ModelCallID and Label by which id and name of the tool; only with by model. Server and Tool are empty when there is no such tool. */
	turnId?: string;
	step?: number;
	modelCallId?: string;
	label?: string;
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
/** a rule or a person said no, so nothing ran */
export const OutcomeDenied = "denied";

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
	/** OutputBytes is the size of the result's whole text, kept apart, when the result here is only its beginning. */
	outputBytes?: number;
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
	/** Note says what a person should know about the value before approving it. */
	note?: string;
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
	questionsOpen: number;
	turnsRunning: number;
	/** Model answers messages; without one, tools are run by hand. */
	model?: ModelStatus;
	/** SandboxSwap is true when both loopback addresses on the port are this daemon's, so that the page may load app frames from the other loopback name. */
	sandboxSwap: boolean;
	/** AppReadyMs is how long an app may take to be ready before its text is shown. */
	appReadyMs: number;
}

export const EventTurnStarted = "turn.started";
export const EventTurnStepped = "turn.stepped";
export const EventTurnFinished = "turn.finished";
export const EventTurnFailed = "turn.failed";
export const EventTurnCancelled = "turn.cancelled";
export const EventText = "text.appended";
export const EventToolsChanged = "tools.changed";
export const EventCallApproved = "call.approved";
export const EventCallDenied = "call.denied";
export const EventQuestionAsked = "question.asked";
export const EventQuestionAnswered = "question.answered";
export const EventQuestionExpired = "question.expired";

/** TurnStarted is the data of turn.started: the model works on what the person said. Exactly one of turn.finished, turn.failed and turn.cancelled follows. */
export interface TurnStarted {
	turnId: string;
	model: string;
}

/** TurnStepped is the data of turn.stepped: a request goes to the model. Steps of a turn count from 1. */
export interface TurnStepped {
	turnId: string;
	step: number;
}

/** TurnEnded is the data of turn.finished, turn.failed and turn.cancelled. Failed turns have an error. Limit says which bound of the model cut the last answer short: length, or content_filter. */
export interface TurnEnded {
	turnId: string;
	steps: number;
	calls: number;
	durationMs: number;
	usage: Usage;
	limit?: string;
	error?: Error;
}

/** Usage counts tokens as the model's server told them, all steps of a turn together. All are 0 where it told none. */
export interface Usage {
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	reasoningTokens: number;
	/** ContextTokens is what the last step took of the model's context, ContextLimit how much there is; 0 is unknown. */
	contextTokens: number;
	contextLimit: number;
}

/** TextAppended is the data of text.appended: the model said more. What it says is gathered for a moment first, so one answer is a few of these. The answer of a step is the texts of that step together, reasoning apart. */
export interface TextAppended {
	turnId: string;
	step: number;
	text: string;
	/** Text is what the model thought on the way, not its answer */
	reasoning?: boolean;
}

/** ToolsChanged is the data of tools.changed: the model is told, with its next step, that the tools are others now. Names are the labels that models see. */
export interface ToolsChanged {
	turnId: string;
	added?: string[];
	removed?: string[];
	changed?: string[];
}

/** CallDecided is the data of call.approved and call.denied: whether a call of the model may run, and what decided. After call.denied comes call.finished with the outcome denied. */
export interface CallDecided {
	callId: string;
	/** deny_rule, excludeTools, includeTools, allow_rule, alwaysAllow, readOnlyHint, session, remembered, mode, person, nobody */
	source: string;
	/** a sentence for the person */
	reason: string;
	rule?: string;
}

/** may this tool run? */
export const QuestionPermission = "permission";
/** fill this form */
export const QuestionForm = "form";
/** open this address */
export const QuestionURL = "url";
/** may the server ask the model this? */
export const QuestionSampling = "sampling";
/** log in to this server */
export const QuestionLogin = "login";

/** QuestionAsked is the data of question.asked: something only a person can say. Exactly one of question.answered and question.expired follows, and the first answer counts. Message, Title, Description, Annotations, Schema and URL are the server's own words. */
export interface QuestionAsked {
	questionId: string;
	kind: string;
	callId?: string;
	server: string;
	tool?: string;
	/** of the tool */
	title?: string;
	description?: string;
	message: string;
	/** Schema is a form's flat JSON Schema; its order of properties counts. */
	schema?: unknown;
	/** whole, to be shown whole */
	url?: string;
	/** of the URL, to be shown clearly */
	host?: string;
	/** Arguments of the call that wants to run, Annotations what the server claims about the tool. */
	arguments?: unknown;
	annotations?: unknown;
	/** Difference is what the server changed about a tool that was allowed before. */
	difference?: Difference[];
	/** Sampling is the request that the server wants put to the model (the params of sampling/createMessage). */
	sampling?: unknown;
	/** Warnings are what the person should notice before answering. */
	warnings?: string[];
	/** Round counts from 1 how often the call has asked; 0 when that is not known. */
	round?: number;
	/** Allowed are the actions an answer may have: once, session, always, no for permission; accept, decline, cancel for a form or a URL; once, no for sampling. */
	allowed: string[];
	expiresAt: string;
}

/** Difference is one change between two definitions of a tool. */
export interface Difference {
	where: string;
	before?: string;
	after?: string;
}

/** QuestionAnswered is the data of question.answered. Content is the filled form; it is left out of the log when a field looks like a secret. */
export interface QuestionAnswered {
	questionId: string;
	action: string;
	/** which surface, such as webshell, or policy */
	by: string;
	content?: unknown;
}

/** QuestionExpired is the data of question.expired: nobody can answer any more. */
export interface QuestionExpired {
	questionId: string;
	/** deadline, withdrawn (its call has ended), restarted (Usher has ended since) */
	reason: string;
}

/** AnswerRequest answers a question. Action is one of the question's allowed ones, Content the filled form with accept. By names the surface for others to see, such as webshell; empty is api. */
export interface AnswerRequest {
	action: string;
	content?: unknown;
	by?: string;
}

/** ModelStatus is the model that answers messages. */
export interface ModelStatus {
	name: string;
	/** 0 is unknown */
	contextTokens: number;
	vision: boolean;
}
