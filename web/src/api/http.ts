import { isObject, parseJSON } from "./json";
import type { Problem, Error as WireError } from "./types.gen";

/** An answer of the daemon that is not a success, or no answer at all (status 0). */
export class ApiError extends Error {
	readonly status: number;
	readonly wire: WireError;

	constructor(status: number, wire: WireError) {
		super(wire.message);
		this.name = "ApiError";
		this.status = status;
		this.wire = wire;
	}
}

/** How long an ordinary request may take: reads of a slow server included. */
const requestTimeoutMs = 120_000;

/**
 * Sends one request to the daemon. The cookie authenticates; a body is JSON text.
 * Throws ApiError for every failure but an abort by the caller's signal.
 */
export async function request<T>(method: string, path: string, body?: string, signal?: AbortSignal): Promise<T> {
	const timeout = AbortSignal.timeout(requestTimeoutMs);
	let response: Response;
	let text: string;
	try {
		response = await fetch(path, {
			method,
			credentials: "same-origin",
			cache: "no-store",
			headers: body === undefined ? {} : { "Content-Type": "application/json" },
			...(body === undefined ? {} : { body }),
			signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
		});
		text = await response.text();
	} catch (cause) {
		if (signal?.aborted) throw cause;
		throw new ApiError(0, {
			code: timeout.aborted ? "timeout" : "unreachable",
			message: timeout.aborted ? "The daemon did not answer in two minutes." : "The daemon does not answer.",
			hint: "See whether usher serve still runs in its terminal.",
		});
	}
	if (!response.ok) throw new ApiError(response.status, problemOf(response.status, text));
	return (text === "" ? undefined : parseJSON(text)) as T;
}

function problemOf(status: number, text: string): WireError {
	try {
		const problem = JSON.parse(text) as Problem;
		if (isObject(problem) && isObject(problem.error)) return problem.error as WireError;
	} catch {
		// Not JSON: something between the page and the daemon answered.
	}
	return { code: "http", message: `The daemon answered ${status}.` };
}

/** What went wrong, for a person, whatever was thrown. */
export function wireError(thrown: unknown): WireError {
	if (thrown instanceof ApiError) return thrown.wire;
	return { code: "page", message: thrown instanceof Error ? thrown.message : String(thrown) };
}
