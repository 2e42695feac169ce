import { api } from "../api/client";
import { wireError } from "../api/http";
import type { Session, Error as WireError } from "../api/types.gen";
import { noticeFailure } from "../store/auth";
import { go, route } from "../store/route";
import { createStore } from "../store/store";
import { toast } from "../store/toast";

/** The sessions of the rail, newest first, as far as they were fetched. */
export interface Sessions {
	all: readonly Session[] | undefined;
	nextCursor: string | undefined;
	problem: WireError | undefined;
	/** Deleted here, while the person may still change their mind. */
	leaving: ReadonlySet<string>;
}

export const sessions = createStore<Sessions>({
	all: undefined,
	nextCursor: undefined,
	problem: undefined,
	leaving: new Set(),
});

const undoMs = 7000;
const departures = new Map<string, ReturnType<typeof setTimeout>>();

/** Fetches the first page again and keeps the older ones that were fetched before. */
export async function refreshSessions(): Promise<void> {
	try {
		const page = await api.sessions();
		sessions.set((now) => {
			const fresh = new Set(page.sessions.map((session) => session.id));
			const oldest = page.sessions.at(-1)?.updatedAt ?? "";
			const older = page.nextCursor ? (now.all ?? []).filter((s) => !fresh.has(s.id) && s.updatedAt < oldest) : [];
			return {
				...now,
				all: [...page.sessions, ...older],
				nextCursor: older.length > 0 ? now.nextCursor : page.nextCursor,
				problem: undefined,
			};
		});
	} catch (cause) {
		noticeFailure(cause);
		sessions.set((now) => ({ ...now, problem: wireError(cause) }));
	}
}

let soon: ReturnType<typeof setTimeout> | undefined;
const settleMs = 150;

/** A hint that sessions changed: many hints in a moment are one fetch. */
export function hintSessionsChanged(): void {
	if (soon !== undefined) return;
	soon = setTimeout(() => {
		soon = undefined;
		void refreshSessions();
	}, settleMs);
}

/** Fetches one more page. */
export async function moreSessions(): Promise<void> {
	const cursor = sessions.get().nextCursor;
	if (!cursor) return;
	try {
		const page = await api.sessions(cursor);
		sessions.set((now) => {
			const known = new Set(now.all?.map((session) => session.id));
			return {
				...now,
				all: [...(now.all ?? []), ...page.sessions.filter((session) => !known.has(session.id))],
				nextCursor: page.nextCursor,
			};
		});
	} catch (cause) {
		toast(wireError(cause).message, { tone: "error" });
	}
}

const begun = new Set<string>();

/** Whether this page began the session and did not open it since: all of it happens before the person's eyes. */
export function takeBegun(id: string): boolean {
	return begun.delete(id);
}

/** Makes a session and puts it on top of the rail. */
export async function createSession(title: string): Promise<Session> {
	const session = await api.createSession(title);
	begun.add(session.id);
	sessions.set((now) => ({ ...now, all: [session, ...(now.all ?? []).filter((one) => one.id !== session.id)] }));
	return session;
}

/** Gives a session another title; the old one stands until the daemon agreed. */
export async function renameSession(id: string, title: string): Promise<void> {
	try {
		const session = await api.updateSession(id, { title });
		sessions.set((now) => ({ ...now, all: now.all?.map((one) => (one.id === id ? { ...one, ...session } : one)) }));
	} catch (cause) {
		toast(wireError(cause).message, { tone: "error" });
	}
}

/** Removes a session from the rail, and from the daemon once it is too late to undo. */
export function deleteSession(id: string, title: string): void {
	const here = route.get();
	if (here.place === "session" && here.id === id) go({ place: "session", id: undefined }, true);
	setLeaving(id, true);
	departures.set(
		id,
		setTimeout(() => void depart(id), undoMs),
	);
	const dismiss = toast(`Deleted “${title}”.`, {
		action: {
			label: "Undo",
			run: () => {
				clearTimeout(departures.get(id));
				departures.delete(id);
				setLeaving(id, false);
				dismiss();
			},
		},
	});
}

// A page that closes keeps its word: what was deleted is deleted.
addEventListener("pagehide", () => {
	for (const id of departures.keys()) {
		void fetch(`/v1/sessions/${encodeURIComponent(id)}`, { method: "DELETE", keepalive: true }).catch(() => {});
	}
	departures.clear();
});

async function depart(id: string): Promise<void> {
	departures.delete(id);
	try {
		await api.deleteSession(id);
		sessions.set((now) => ({ ...now, all: now.all?.filter((session) => session.id !== id) }));
	} catch (cause) {
		toast(wireError(cause).message, { tone: "error" });
	}
	setLeaving(id, false);
}

function setLeaving(id: string, leaving: boolean): void {
	sessions.set((now) => {
		const next = new Set(now.leaving);
		if (leaving) next.add(id);
		else next.delete(id);
		return { ...now, leaving: next };
	});
}
