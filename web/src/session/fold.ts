import type {
	CallDecided,
	CallFinished,
	CallProgressed,
	CallRequested,
	Event,
	MessageReceived,
	NoticeRaised,
	QuestionAnswered,
	QuestionAsked,
	QuestionExpired,
	SessionCompacted,
	SessionRenamed,
	TextAppended,
	ToolsChanged,
	TurnEnded,
	TurnStarted,
	TurnStepped,
} from "../api/types.gen";
import type { CallItem, Item, QuestionItem, SaidItem, Transcript, TurnItem } from "./items";
import { placeOf } from "./items";

type ItemOf<K extends Item["kind"]> = Extract<Item, { kind: K }>;

/** A transcript while events are folded in: it copies what it changes, once. */
class Draft {
	readonly now: Transcript;
	private items: Item[] | undefined;
	private places: Map<string, number> | undefined;

	constructor(private readonly before: Transcript) {
		this.now = { ...before };
	}

	get changed(): boolean {
		return this.now.lastId !== this.before.lastId || this.items !== undefined;
	}

	has(place: string): boolean {
		return (this.places ?? this.before.places).has(place);
	}

	add(item: Item, place?: string): void {
		this.items ??= [...this.before.items];
		this.items.push(item);
		if (place === undefined) return;
		this.places ??= new Map(this.before.places);
		this.places.set(place, this.items.length - 1);
	}

	/** Changes what stands at a place, if it is of this kind. */
	change<K extends Item["kind"]>(place: string, kind: K, update: (item: ItemOf<K>) => ItemOf<K>): void {
		const at = (this.places ?? this.before.places).get(place);
		const item = at === undefined ? undefined : (this.items ?? this.before.items)[at];
		if (at === undefined || item?.kind !== kind) return;
		const next = update(item as ItemOf<K>);
		if (next === item) return;
		this.items ??= [...this.before.items];
		this.items[at] = next;
	}

	changeAll(update: (item: Item) => Item): void {
		this.items = (this.items ?? this.before.items).map(update);
	}

	done(): Transcript {
		return {
			...this.now,
			items: this.items ?? this.before.items,
			places: this.places ?? this.before.places,
		};
	}
}

/**
 * Folds events into a transcript. It is pure, ignores what it folded before and what it does not know, and
 * gives the same transcript however the events were cut into batches.
 */
export function fold(before: Transcript, events: readonly Event[]): Transcript {
	const draft = new Draft(before);
	for (const event of events) {
		// Progress may pass by without being kept in the log; everything else that has no id is about the host.
		if (event.id === 0 ? event.type !== "call.progressed" : event.id <= draft.now.lastId) continue;
		draft.now.lastId = Math.max(draft.now.lastId, event.id);
		const prefix = event.type.slice(0, event.type.indexOf("."));
		parts[prefix]?.(draft, event);
	}
	return draft.changed ? draft.done() : before;
}

const parts: Record<string, (draft: Draft, event: Event) => void> = {
	session: foldSession,
	message: (draft, event) =>
		draft.add({ kind: "message", key: keyOf(event), text: (event.data as MessageReceived).text, time: event.time }),
	notice: (draft, event) => {
		const { level, text } = event.data as NoticeRaised;
		draft.add({ kind: "notice", key: keyOf(event), level, text, time: event.time });
	},
	tools: (draft, event) => {
		const text = toolsWords(event.data as ToolsChanged);
		draft.add({ kind: "notice", key: keyOf(event), level: "info", text, time: event.time });
	},
	text: foldText,
	turn: foldTurn,
	call: foldCall,
	question: foldQuestion,
};

function keyOf(event: Event): string {
	return String(event.id);
}

function foldSession(draft: Draft, event: Event): void {
	switch (event.type) {
		case "session.created":
		case "session.renamed":
			draft.now.title = (event.data as SessionRenamed).title;
			break;
		case "session.compacted": {
			const { through, summary } = event.data as SessionCompacted;
			draft.changeAll((item) => withoutApp(item, through));
			if (summary) draft.add({ kind: "summary", key: keyOf(event), text: summary, time: event.time });
			break;
		}
	}
}

/** Apps that were put away to save room keep their place and their text. */
function withoutApp(item: Item, through: number): Item {
	if (item.kind !== "call" || !item.finished?.display?.html || (item.finishedId ?? 0) > through) return item;
	return { ...item, finished: { ...item.finished, display: { ...item.finished.display, html: "" } } };
}

function foldText(draft: Draft, event: Event): void {
	const { turnId, step, text, reasoning } = event.data as TextAppended;
	const place = placeOf.said(turnId, step);
	const more = (item: SaidItem): SaidItem =>
		reasoning ? { ...item, reasoning: item.reasoning + text } : { ...item, text: item.text + text };
	if (draft.has(place)) draft.change(place, "said", more);
	else {
		draft.add(
			more({ kind: "said", key: keyOf(event), turnId, step, text: "", reasoning: "", time: event.time }),
			place,
		);
	}
}

function foldTurn(draft: Draft, event: Event): void {
	const turn = draft.now.turn;
	switch (event.type) {
		case "turn.started": {
			const { turnId, model } = event.data as TurnStarted;
			draft.now.turn = { turnId, model, step: 0, startedAt: event.time };
			break;
		}
		case "turn.stepped": {
			const { turnId, step } = event.data as TurnStepped;
			if (turn?.turnId === turnId) draft.now.turn = { ...turn, step };
			break;
		}
		case "turn.finished":
		case "turn.failed":
		case "turn.cancelled": {
			const ended = event.data as TurnEnded;
			const mine = turn?.turnId === ended.turnId;
			if (mine) draft.now.turn = undefined;
			draft.add({
				kind: "turn",
				key: keyOf(event),
				state: event.type.slice("turn.".length) as TurnItem["state"],
				model: mine ? turn.model : "",
				ended,
				time: event.time,
			});
			break;
		}
	}
}

function foldCall(draft: Draft, event: Event): void {
	const { callId } = event.data as { callId: string };
	const change = (update: (call: CallItem) => CallItem) => draft.change(placeOf.call(callId), "call", update);
	switch (event.type) {
		case "call.requested": {
			if (draft.has(placeOf.call(callId))) break;
			const { server, tool, title, arguments: args, by } = event.data as CallRequested;
			const call: CallItem = {
				kind: "call",
				key: keyOf(event),
				callId,
				server,
				tool,
				title,
				arguments: args,
				by,
				requestedAt: event.time,
				asking: 0,
			};
			draft.add(call, placeOf.call(callId));
			draft.now.running++;
			break;
		}
		case "call.approved":
		case "call.denied": {
			const decided = { ...(event.data as CallDecided), allowed: event.type === "call.approved" };
			change((call) => ({ ...call, decided }));
			break;
		}
		case "call.started":
			change((call) => ({ ...call, startedAt: event.time }));
			break;
		case "call.progressed": {
			const progress = event.data as CallProgressed;
			change((call) => (call.finished ? call : { ...call, progress }));
			break;
		}
		case "call.finished": {
			const finished = event.data as CallFinished;
			change((call) => {
				if (call.finished) return call;
				draft.now.running--;
				return { ...call, finished, finishedAt: event.time, finishedId: event.id };
			});
			break;
		}
	}
}

function foldQuestion(draft: Draft, event: Event): void {
	const { questionId } = event.data as { questionId: string };
	const place = placeOf.question(questionId);
	const asking = (callId: string | undefined, by: number) => {
		if (!callId) return;
		draft.change(placeOf.call(callId), "call", (call) => ({ ...call, asking: Math.max(0, call.asking + by) }));
	};
	if (event.type === "question.asked") {
		if (draft.has(place)) return;
		const asked = event.data as QuestionAsked;
		draft.add({ kind: "question", key: keyOf(event), asked, time: event.time }, place);
		draft.now.waiting = [...draft.now.waiting, questionId];
		asking(asked.callId, 1);
		return;
	}
	draft.change(place, "question", (question): QuestionItem => {
		if (question.answered || question.expired) return question;
		draft.now.waiting = draft.now.waiting.filter((id) => id !== questionId);
		asking(question.asked.callId, -1);
		return event.type === "question.answered"
			? { ...question, answered: { ...(event.data as QuestionAnswered), time: event.time } }
			: { ...question, expired: { ...(event.data as QuestionExpired), time: event.time } };
	});
}

function toolsWords({ added, removed, changed }: ToolsChanged): string {
	const some = (what: string, names: readonly string[] | undefined) =>
		names?.length
			? [`${what} ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`]
			: [];
	const words = [...some("new", added), ...some("gone", removed), ...some("changed", changed)];
	return `The model's tools are others now${words.length > 0 ? `: ${words.join("; ")}` : ""}.`;
}
