import { parseJSON } from "./json";
import type { Event } from "./types.gen";

/** What a session's stream tells its owner. */
export interface StreamHandlers {
	/** An event of the log, or with id 0 a hint about the host. */
	onEvent(event: Event): void;
	/** The daemon cannot fill a gap: fetch the log again. */
	onResync(): void;
	/** It cannot be opened, and the browser does not say why: ask in another way. */
	onRefused(): void;
	/** The connection is up, or has been down for longer than a moment. */
	onConnected(connected: boolean): void;
}

/** Every type that a stream may name; others arrive as plain messages. */
const types = [
	"session.created",
	"session.renamed",
	"session.archived",
	"session.compacted",
	"message.received",
	"turn.started",
	"turn.stepped",
	"turn.finished",
	"turn.failed",
	"turn.cancelled",
	"text.appended",
	"tools.changed",
	"call.requested",
	"call.approved",
	"call.denied",
	"call.started",
	"call.progressed",
	"call.finished",
	"question.asked",
	"question.answered",
	"question.expired",
	"notice.raised",
	"server.changed",
	"catalog.changed",
] as const;

/** A connection that is back within this time is not worth a word. */
const noticeAfterMs = 1000;
const firstRetryMs = 250;
const askAfterMs = 1000;
const lastRetryMs = 5000;

/**
 * Follows a session's events after the given one until the returned function is called. It reconnects for
 * ever, from the last event seen, with pauses that grow to five seconds.
 */
export function follow(url: (after: number) => string, after: number, handlers: StreamHandlers): () => void {
	let source: EventSource | undefined;
	let retry: ReturnType<typeof setTimeout> | undefined;
	let notice: ReturnType<typeof setTimeout> | undefined;
	let pause = firstRetryMs;
	let last = after;
	let closed = false;

	const lost = () => {
		notice ??= setTimeout(() => handlers.onConnected(false), noticeAfterMs);
	};
	const receive = (message: MessageEvent<string>) => {
		let event: Event;
		try {
			event = parseJSON(message.data) as Event;
		} catch {
			return;
		}
		if (event.id > last) last = event.id;
		handlers.onEvent(event);
	};
	const open = () => {
		if (closed) return;
		const mine = new EventSource(url(last));
		source = mine;
		mine.onopen = () => {
			clearTimeout(notice);
			notice = undefined;
			pause = firstRetryMs;
			handlers.onConnected(true);
		};
		mine.onmessage = receive;
		for (const type of types) mine.addEventListener(type, receive);
		mine.addEventListener("resync", () => {
			mine.close();
			handlers.onResync();
		});
		// The browser's own retry gives up on an HTTP status, and its pause is not ours to choose.
		mine.onerror = () => {
			mine.close();
			if (closed || source !== mine) return;
			lost();
			if (pause >= askAfterMs) handlers.onRefused();
			clearTimeout(retry);
			retry = setTimeout(open, pause);
			pause = Math.min(pause * 2, lastRetryMs);
		};
	};
	const wake = () => {
		if (closed || source?.readyState !== EventSource.CLOSED) return;
		clearTimeout(retry);
		pause = firstRetryMs;
		open();
	};

	open();
	addEventListener("online", wake);
	document.addEventListener("visibilitychange", wake);
	return () => {
		closed = true;
		removeEventListener("online", wake);
		document.removeEventListener("visibilitychange", wake);
		clearTimeout(retry);
		clearTimeout(notice);
		source?.close();
	};
}
