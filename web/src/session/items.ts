import type {
	CallDecided,
	CallFinished,
	CallProgressed,
	QuestionAnswered,
	QuestionAsked,
	QuestionExpired,
	TurnEnded,
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
	/** What decided that it may run, or may not; only of calls that were not a person's own. */
	decided?: CallDecided & { allowed: boolean };
	startedAt?: string;
	/** How many questions to a person hold it up now. */
	asking: number;
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

/** What the model said in one step of a turn, as far as it has said it. */
export interface SaidItem {
	kind: "said";
	key: string;
	turnId: string;
	step: number;
	text: string;
	/** What it thought on the way, which is no part of its answer. */
	reasoning: string;
	time: string;
}

/** How a turn of the model ended. */
export interface TurnItem {
	kind: "turn";
	key: string;
	state: "finished" | "failed" | "cancelled";
	model: string;
	ended: TurnEnded;
	time: string;
}

/** A question to a person. Without an answer and an end it waits. */
export interface QuestionItem {
	kind: "question";
	key: string;
	asked: QuestionAsked;
	time: string;
	answered?: QuestionAnswered & { time: string };
	expired?: QuestionExpired & { time: string };
}

/** A summary that stands for what came before, when the model looks back. */
export interface SummaryItem {
	kind: "summary";
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

export type Item = CallItem | MessageItem | SaidItem | TurnItem | QuestionItem | SummaryItem | NoticeItem;

/** A turn that goes on. */
export interface Turn {
	turnId: string;
	model: string;
	/** From 1; 0 before the first request to the model. */
	step: number;
	startedAt: string;
}

/** A session as its events tell it. */
export interface Transcript {
	title: string;
	items: readonly Item[];
	/** Where a call, a question and a step's words stand in items. */
	places: ReadonlyMap<string, number>;
	/** The last event of the log that was folded in. */
	lastId: number;
	running: number;
	/** The questions that wait, the oldest first. */
	waiting: readonly string[];
	turn: Turn | undefined;
}

export const emptyTranscript: Transcript = {
	title: "",
	items: [],
	places: new Map(),
	lastId: 0,
	running: 0,
	waiting: [],
	turn: undefined,
};

/** The questions of a transcript that wait. */
export function waitingQuestions({ items, places, waiting }: Transcript): QuestionItem[] {
	return waiting.flatMap((id) => {
		const item = items[places.get(placeOf.question(id)) ?? -1];
		return item?.kind === "question" ? [item] : [];
	});
}

/** The names of places. */
export const placeOf = {
	call: (callId: string) => `call ${callId}`,
	question: (questionId: string) => `question ${questionId}`,
	said: (turnId: string, step: number) => `said ${turnId} ${step}`,
};
