import { request } from "./http";
import type {
	Accepted,
	AnswerRequest,
	Catalog,
	CompleteRequest,
	CompleteResponse,
	EventList,
	PromptRequest,
	PromptResponse,
	ReadRequest,
	ReadResponse,
	Server,
	ServerList,
	Session,
	SessionList,
	Status,
	Stderr,
	UpdateSessionRequest,
} from "./types.gen";

const session = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;
const server = (name: string) => `/v1/servers/${encodeURIComponent(name)}`;

/** What a person may do to a server. */
export type ServerAction = "reconnect" | "enable" | "disable" | "approve";

/** The daemon's routes, one function each. */
export const api = {
	login: (code: string) => request<void>("POST", "/v1/login", JSON.stringify({ code })),
	status: (signal?: AbortSignal) => request<Status>("GET", "/v1/status", undefined, signal),

	sessions: (cursor?: string, signal?: AbortSignal) =>
		request<SessionList>(
			"GET",
			cursor ? `/v1/sessions?cursor=${encodeURIComponent(cursor)}` : "/v1/sessions",
			undefined,
			signal,
		),
	createSession: (title: string) => request<Session>("POST", "/v1/sessions", JSON.stringify(title ? { title } : {})),
	updateSession: (id: string, change: UpdateSessionRequest) =>
		request<Session>("PATCH", session(id), JSON.stringify(change)),
	deleteSession: (id: string) => request<void>("DELETE", session(id)),
	events: (id: string, after: number, signal?: AbortSignal) =>
		request<EventList>("GET", `${session(id)}/events?until=now&limit=1000&after=${after}`, undefined, signal),
	eventsURL: (id: string, after: number) => `${session(id)}/events?after=${after}`,

	/** Runs a tool. The arguments are JSON text, sent as they are: digits and key order survive. */
	call: (id: string, call: { server: string; tool: string; argumentsText: string }) =>
		request<Accepted>(
			"POST",
			`${session(id)}/calls`,
			`{"server":${JSON.stringify(call.server)},"tool":${JSON.stringify(call.tool)},"arguments":${call.argumentsText}}`,
		),
	/** Says something to the model. */
	message: (id: string, text: string) => request<Accepted>("POST", `${session(id)}/messages`, JSON.stringify({ text })),
	/** Cancels one call, or without its id everything that runs in the session, the model's turn included. */
	cancel: (id: string, callId?: string) =>
		request<void>("POST", `${session(id)}/cancel`, JSON.stringify(callId ? { callId } : {})),
	/** Answers a question; the first answer counts. */
	answer: (id: string, answer: AnswerRequest) =>
		request<void>("POST", `/v1/questions/${encodeURIComponent(id)}/answer`, JSON.stringify(answer)),

	servers: (signal?: AbortSignal) => request<ServerList>("GET", "/v1/servers", undefined, signal),
	serverAction: (name: string, action: ServerAction) =>
		request<Server | undefined>("POST", `${server(name)}/${action}`),
	stderr: (name: string, signal?: AbortSignal) => request<Stderr>("GET", `${server(name)}/stderr`, undefined, signal),
	catalog: (signal?: AbortSignal) => request<Catalog>("GET", "/v1/catalog", undefined, signal),
	read: (read: ReadRequest, signal?: AbortSignal) =>
		request<ReadResponse>("POST", "/v1/resources/read", JSON.stringify(read), signal),
	prompt: (prompt: PromptRequest, signal?: AbortSignal) =>
		request<PromptResponse>("POST", "/v1/prompts/get", JSON.stringify(prompt), signal),
	complete: (complete: CompleteRequest, signal?: AbortSignal) =>
		request<CompleteResponse>("POST", "/v1/complete", JSON.stringify(complete), signal),
};
