import type {
	CallFinished,
	CallProgressed,
	CallRequested,
	Event,
	MessageReceived,
	NoticeRaised,
	SessionCompacted,
	SessionRenamed,
} from "../api/types.gen";

/** A tool call as the transcript draws it. */
export interface CallItem {
	kind: "call";
	key: string;
	callId: string;
	server: string;
	tool: string;
	title: string;
	arguments: unknown;
	by: string;
	requestedAt: string;
	startedAt?: string;
	progress?: CallProgressed;
	finished?: CallFinished;
	finishedAt?: string;
	/** The event that finished it. */
	finishedId?: number;
}

/** What a person wrote. */
export interface MessageItem {
	kind: "message";
	key: string;
	text: string;
	time: string;
}

/** Something the person should know. */
export interface NoticeItem {
	kind: "notice";
	key: string;
	level: string;
	text: string;
	time: string;
}

export type Item = CallItem | MessageItem | NoticeItem;

/** A session as its events tell it. */
export interface Transcript {
	title: string;
	items: readonly Item[];
	/** Where a call stands in items. */
	calls: ReadonlyMap<string, number>;
	/** The last event of the log that was folded in. */
	lastId: number;
	running: number;
}

export const emptyTranscript: Transcript = { title: "", items: [], calls: new Map(), lastId: 0, running: 0 };

/**
 * Folds events into a transcript. It is pure, ignores what it folded before and what it does not know, and
 * gives the same transcript however the events were cut into batches.
 */
export function fold(before: Transcript, events: readonly Event[]): Transcript {
	const draft = { ...before };
	let items: Item[] | undefined;
	let calls: Map<string, number> | undefined;
	const add = (item: Item) => {
		items ??= [...before.items];
		items.push(item);
		return items.length - 1;
	};
	const change = (callId: string, update: (call: CallItem) => CallItem) => {
		const at = (calls ?? before.calls).get(callId);
		if (at === undefined) return;
		items ??= [...before.items];
		const call = items[at];
		if (call?.kind === "call") items[at] = update(call);
	};

	for (const event of events) {
		// Progress may pass by without being kept in the log; everything else that has no id is about the host.
		if (event.id === 0 ? event.type !== "call.progressed" : event.id <= draft.lastId) continue;
		draft.lastId = Math.max(draft.lastId, event.id);
		const key = String(event.id);
		switch (event.type) {
			case "session.created":
			case "session.renamed":
				draft.title = (event.data as SessionRenamed).title;
				break;
			case "session.compacted": {
				const { through } = event.data as SessionCompacted;
				items = (items ?? before.items).map((item) => withoutApp(item, through));
				break;
			}
			case "message.received":
				add({ kind: "message", key, text: (event.data as MessageReceived).text, time: event.time });
				break;
			case "notice.raised": {
				const { level, text } = event.data as NoticeRaised;
				add({ kind: "notice", key, level, text, time: event.time });
				break;
			}
			case "call.requested": {
				const data = event.data as CallRequested;
				if ((calls ?? before.calls).has(data.callId)) break;
				calls ??= new Map(before.calls);
				calls.set(
					data.callId,
					add({
						kind: "call",
						key,
						callId: data.callId,
						server: data.server,
						tool: data.tool,
						title: data.title,
						arguments: data.arguments,
						by: data.by,
						requestedAt: event.time,
					}),
				);
				draft.running++;
				break;
			}
			case "call.started":
				change((event.data as { callId: string }).callId, (call) => ({ ...call, startedAt: event.time }));
				break;
			case "call.progressed": {
				const data = event.data as CallProgressed;
				change(data.callId, (call) => (call.finished ? call : { ...call, progress: data }));
				break;
			}
			case "call.finished": {
				const data = event.data as CallFinished;
				change(data.callId, (call) => {
					if (call.finished) return call;
					draft.running--;
					return { ...call, finished: data, finishedAt: event.time, finishedId: event.id };
				});
				break;
			}
		}
	}
	if (draft.lastId === before.lastId && !items) return before;
	return { ...draft, items: items ?? before.items, calls: calls ?? before.calls };
}

/** Apps that were put away to save room keep their place and their text. */
function withoutApp(item: Item, through: number): Item {
	if (item.kind !== "call" || !item.finished?.display?.html || (item.finishedId ?? 0) > through) return item;
	return { ...item, finished: { ...item.finished, display: { ...item.finished.display, html: "" } } };
}
