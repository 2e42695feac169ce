import { isObject, type JsonObject, parseJSON, pretty } from "../api/json";
import type { Tool } from "../api/types.gen";
import { initialValue, readSchema } from "../schema/model";
import { createStore } from "../store/store";

/** What lies on the bench. */
export type Pick =
	| { kind: "tool"; server: string; name: string }
	| { kind: "prompt"; server: string; name: string }
	| { kind: "template"; server: string; name: string };

/**
 * The arguments being written. Form and JSON are two views of `args`; `text` is there only while what the
 * person typed as JSON has to stay as typed, and `problem` while it is not a JSON object.
 */
export interface Draft {
	pick: Pick | undefined;
	args: JsonObject;
	text: string | undefined;
	problem: string | undefined;
	view: "form" | "json";
	/** Folded, the bench shows what it would run and nothing of how. */
	folded: boolean;
}

const key = "usher.bench";
const maxKept = 256 << 10;
const empty: Draft = { pick: undefined, args: {}, text: undefined, problem: undefined, view: "form", folded: false };

export const draft = createStore<Draft>(restore());

// A reload keeps the bench as it was.
draft.subscribe(() => {
	try {
		const { pick, args, view } = draft.get();
		const kept = JSON.stringify({ pick, args, view });
		if (kept.length <= maxKept) sessionStorage.setItem(key, kept);
	} catch {
		// Storage may be full or refused; the bench then lasts as long as the page.
	}
});

function restore(): Draft {
	try {
		const kept = parseJSON(sessionStorage.getItem(key) ?? "{}");
		if (isObject(kept) && isObject(kept.pick) && isObject(kept.args)) {
			return {
				...empty,
				pick: kept.pick as unknown as Pick,
				args: kept.args,
				view: kept.view === "json" ? "json" : "form",
			};
		}
	} catch {
		// What an older page kept.
	}
	return empty;
}

/** Puts a tool on the bench, with the values its schema starts with. */
export function pickTool(tool: Tool): void {
	const start = initialValue(readSchema(tool.inputSchema), true);
	draft.set((now) => ({
		...empty,
		view: now.view,
		pick: { kind: "tool", server: tool.server, name: tool.name },
		args: isObject(start) ? start : {},
	}));
}

/** Puts a tool on the bench with given arguments. */
export function pickCall(server: string, name: string, args: unknown): void {
	draft.set((now) => ({
		...empty,
		view: now.view,
		pick: { kind: "tool", server, name },
		args: isObject(args) ? args : {},
	}));
}

/** Puts a prompt or a resource template on the bench. */
export function pickOther(pick: Pick): void {
	draft.set((now) => ({ ...empty, view: now.view, pick }));
}

/** Clears the bench. */
export function putAway(): void {
	draft.set((now) => ({ ...empty, view: now.view }));
}

/** A change in the form. */
export function setArgs(args: JsonObject): void {
	draft.set((now) => ({ ...now, args, text: undefined, problem: undefined }));
}

/** A change in the JSON. Arguments follow as soon as it is an object. */
export function setText(text: string): void {
	draft.set((now) => {
		let value: unknown;
		try {
			value = text.trim() === "" ? {} : parseJSON(text);
		} catch (cause) {
			return { ...now, text, problem: `Not JSON yet: ${cause instanceof Error ? cause.message : cause}` };
		}
		if (!isObject(value)) return { ...now, text, problem: "Arguments are one JSON object: { … }" };
		return { ...now, text, args: value, problem: undefined };
	});
}

/** The arguments as JSON text: as typed where they were typed. */
export function argumentsText({ text, args }: Draft): string {
	return text === undefined || text.trim() === "" ? pretty(args) : text;
}
