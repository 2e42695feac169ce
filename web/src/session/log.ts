import { api } from "../api/client";
import { ApiError, wireError } from "../api/http";
import { follow } from "../api/stream";
import type { Event, Error as WireError } from "../api/types.gen";
import { hintHostChanged } from "../catalog/host";
import { noticeFailure, refreshStatus } from "../store/auth";
import { createStore, type Store } from "../store/store";
import { fold } from "./fold";
import { emptyTranscript, type Transcript } from "./items";
import { hintSessionsChanged, refreshSessions, takeBegun } from "./sessions";

/** One session as the page follows it. */
export interface Log {
	phase: "loading" | "ready" | "missing" | "failed";
	problem?: WireError;
	transcript: Transcript;
	connected: boolean;
	/** The last event that was there when the page opened the session; later ones happened before our eyes. */
	openedAt: number;
}

const empty: Log = { phase: "loading", transcript: emptyTranscript, connected: true, openedAt: 0 };
const retryMs = 2000;

/** Opens a session: reads its log, then follows its stream. The returned function lets go of it. */
export function openLog(id: string): { log: Store<Log>; close(): void } {
	const log = createStore<Log>(empty);
	const gone = new AbortController();
	let unfollow = () => {};
	let retry: ReturnType<typeof setTimeout> | undefined;
	let pending: Event[] = [];
	let frame: ReturnType<typeof setTimeout> | undefined;

	// Events come in bursts; one fold and one drawing per frame is enough.
	const flush = () => {
		frame = undefined;
		const events = pending;
		pending = [];
		log.set((now) => {
			const transcript = fold(now.transcript, events);
			return transcript === now.transcript ? now : { ...now, transcript };
		});
	};
	const receive = (event: Event) => {
		if (event.type === "server.changed" || event.type === "catalog.changed") {
			hintHostChanged();
			return;
		}
		if (/^(session|question|turn)\.|^call\.requested$|^message\./.test(event.type) && event.type !== "turn.stepped") {
			hintSessionsChanged();
		}
		pending.push(event);
		frame ??= setTimeout(flush, 16);
	};

	// A stream that does not open may have no session behind it any more, or no login.
	const ask = async () => {
		try {
			await api.events(id, log.get().transcript.lastId, gone.signal);
		} catch (cause) {
			if (gone.signal.aborted) return;
			noticeFailure(cause);
			if (cause instanceof ApiError && cause.status === 404) {
				unfollow();
				log.set((now) => ({ ...now, phase: "missing", connected: true }));
			}
		}
	};
	const load = async () => {
		let transcript = emptyTranscript;
		try {
			for (;;) {
				const page = await api.events(id, transcript.lastId, gone.signal);
				const next = fold(transcript, page.events);
				const stuck = next.lastId === transcript.lastId;
				transcript = next;
				if (!page.more || stuck) break;
			}
		} catch (cause) {
			if (gone.signal.aborted) return;
			noticeFailure(cause);
			if (cause instanceof ApiError && cause.status === 404) {
				log.set((now) => ({ ...now, phase: "missing" }));
				return;
			}
			log.set((now) => ({
				...now,
				phase: now.phase === "ready" ? "ready" : "failed",
				problem: wireError(cause),
				connected: false,
			}));
			retry = setTimeout(() => void load(), retryMs);
			return;
		}
		const begun = takeBegun(id);
		log.set((now) => ({
			phase: "ready",
			transcript,
			connected: true,
			openedAt: now.phase === "ready" ? now.openedAt : begun ? 0 : transcript.lastId,
		}));
		// Another window or program may have begun it, or others.
		void refreshSessions();
		unfollow();
		unfollow = follow((after) => api.eventsURL(id, after), transcript.lastId, {
			onEvent: receive,
			onResync: () => void load(),
			onRefused: () => void ask(),
			onConnected: (connected) => {
				const lost = !log.get().connected;
				log.set((now) => (now.connected === connected ? now : { ...now, connected }));
				if (!connected) return;
				hintHostChanged();
				// Another daemon may be there now, with another model.
				if (lost) void refreshStatus();
			},
		});
	};
	void load();

	return {
		log,
		close() {
			gone.abort();
			clearTimeout(retry);
			clearTimeout(frame);
			unfollow();
		},
	};
}
