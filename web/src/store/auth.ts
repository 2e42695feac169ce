import { api } from "../api/client";
import { ApiError, wireError } from "../api/http";
import type { ModelStatus, Status, Error as WireError } from "../api/types.gen";
import { createStore, useStore } from "./store";

/** Whether the daemon knows this browser. */
export type Auth =
	| { state: "asking" }
	| { state: "in"; status: Status }
	| { state: "out"; problem?: WireError }
	| { state: "unreachable"; problem: WireError };

export const auth = createStore<Auth>({ state: "asking" });

/**
 * Takes a one-time code out of an address's fragment. The code is removed from the address before it is
 * used, so that it stays in no history entry and no screenshot.
 */
export function takeCode(): string | undefined {
	const code = /^#code=([A-Za-z0-9._~-]+)$/.exec(location.hash)?.[1];
	if (code) history.replaceState(null, "", `${location.pathname}${location.search}`);
	return code;
}

/** Logs in with a code if there is one, else by the cookie that is already there. */
export async function logIn(code?: string): Promise<void> {
	auth.set((now) => (now.state === "in" ? now : { state: "asking" }));
	let problem: WireError | undefined;
	if (code) {
		try {
			await api.login(code);
		} catch (cause) {
			// A code is good once; a reload of the same address may still have its cookie.
			problem = wireError(cause);
		}
	}
	try {
		const status = await api.status();
		auth.set(() => ({ state: "in", status }));
	} catch (cause) {
		if (cause instanceof ApiError && (cause.status === 401 || cause.status === 403)) {
			auth.set(() => (problem ? { state: "out", problem } : { state: "out" }));
		} else {
			auth.set(() => ({ state: "unreachable", problem: wireError(cause) }));
		}
	}
}

/** Asks for the daemon's numbers again. Without an answer the old ones stand. */
export async function refreshStatus(): Promise<void> {
	try {
		const status = await api.status();
		auth.set((now) => (now.state === "in" ? { state: "in", status } : now));
	} catch (cause) {
		noticeFailure(cause);
	}
}

/** The model that answers messages, if there is one. */
export function useModel(): ModelStatus | undefined {
	return useStore(auth, (now) => (now.state === "in" ? now.status.model : undefined));
}

/** To be told of every failure: a cookie that no longer counts leads to the login page. */
export function noticeFailure(cause: unknown): void {
	if (cause instanceof ApiError && cause.status === 401) auth.set(() => ({ state: "out" }));
}
