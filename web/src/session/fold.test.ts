import { describe, expect, it } from "vitest";
import type { Event } from "../api/types.gen";
import { fold } from "./fold";
import { type CallItem, emptyTranscript, type Item, type Transcript, waitingQuestions } from "./items";
import log from "./testdata/log.json";
import turnsLog from "./testdata/turns.json";

const events = log as Event[];

describe("fold", () => {
	const whole = fold(emptyTranscript, events);

	it("tells the recorded session", () => {
		expect(whole.title).toBe("Revenue");
		expect(whole.items.map((item) => item.kind)).toEqual([
			"call",
			"call",
			"message",
			"notice",
			"call",
			"call",
			"call",
			"call",
		]);
		expect(whole.running).toBe(1);
		expect(whole.lastId).toBe(events.at(-1)?.id);
		const calls = whole.items.filter((item): item is CallItem => item.kind === "call");
		expect(calls.map((call) => call.finished?.outcome)).toEqual([
			"result",
			"tool_error",
			"cancelled",
			undefined,
			"result",
			"result",
		]);
		expect(calls[0]?.progress?.message).toBe("two of two");
		expect(calls[3]).toMatchObject({ tool: "slow", progress: { progress: 1, total: 4 } });
	});

	it("puts away the apps that were compacted, and no later one", () => {
		const apps = whole.items.flatMap((item) =>
			item.kind === "call" && item.finished?.display?.type === "mcp_app" ? [item.finished.display] : [],
		);
		expect(apps.map((display) => display.html)).toEqual(["", "<p>3</p>"]);
		expect(apps[0]?.fallbackText).toBe("Revenue: 3");
	});

	it("gives the same transcript however the log is cut", () => {
		for (let size = 1; size <= events.length; size++) {
			let cut = emptyTranscript;
			for (let at = 0; at < events.length; at += size) cut = fold(cut, events.slice(at, at + size));
			expect(cut).toEqual(whole);
		}
	});

	it("ignores what it has seen", () => {
		expect(fold(whole, events)).toBe(whole);
	});

	it("does not change what it was given", () => {
		const half = fold(emptyTranscript, events.slice(0, 6));
		const copy = structuredClone(half);
		fold(half, events.slice(6));
		expect(half).toEqual(copy);
	});

	it("shows progress that is not kept in the log, and no other event without an id", () => {
		const passing = (type: string, data: unknown): Event => ({
			id: 0,
			session: "s",
			time: "2026-01-01T00:00:00Z",
			type,
			data,
		});
		const callId = whole.items.flatMap((item) => (item.kind === "call" && !item.finished ? [item.callId] : []))[0];
		const next = fold(whole, [passing("call.progressed", { callId, progress: 2, total: 4 })]);
		expect(next.items.find((item) => item.kind === "call" && item.callId === callId)).toMatchObject({
			progress: { progress: 2 },
		});
		expect(next.lastId).toBe(whole.lastId);
		expect(fold(whole, [passing("message.received", { text: "no" })])).toBe(whole);
	});

	it("lives with events it does not know and calls it never saw", () => {
		const at = (id: number, type: string, data: unknown): Event => ({
			id,
			session: "s",
			time: "2026-01-01T00:00:00Z",
			type,
			data,
		});
		const next = fold(emptyTranscript, [
			at(1, "turn.started", {}),
			at(2, "call.finished", { callId: "gone", outcome: "result", durationMs: 1 }),
			at(3, "call.progressed", { callId: "gone", progress: 1 }),
		]);
		expect(next).toMatchObject({ items: [], running: 0, lastId: 3 });
	});

	it("folds ten thousand events", () => {
		const many: Event[] = [];
		for (let i = 0; i < 2500; i++) {
			const callId = `c${i}`;
			const event = (n: number, type: string, data: object): Event => ({
				id: i * 4 + n,
				session: "s",
				time: "2026-01-01T00:00:00Z",
				type,
				data,
			});
			many.push(
				event(1, "call.requested", { callId, server: "s", tool: "t", title: "T", arguments: {}, by: "person" }),
				event(2, "call.started", { callId }),
				event(3, "call.progressed", { callId, progress: 1 }),
				event(4, "call.finished", { callId, outcome: "result", durationMs: 1 }),
			);
		}
		const all = fold(emptyTranscript, many);
		expect(all.items).toHaveLength(2500);
		expect(all.running).toBe(0);
	});
});

describe("fold of a conversation", () => {
	const turns = turnsLog as Event[];
	const whole = fold(emptyTranscript, turns);
	const of = <K extends Item["kind"]>(transcript: Transcript, kind: K) =>
		transcript.items.filter((item): item is Extract<Item, { kind: K }> => item.kind === kind);
	/** The session up to the first event of a type, that one included. */
	const upTo = (type: string, nth = 0) => {
		const event = turns.filter((one) => one.type === type)[nth];
		return fold(
			emptyTranscript,
			turns.filter((one) => one.id <= (event?.id ?? 0)),
		);
	};

	it("tells who said what, in order", () => {
		expect(whole.items.map((item) => item.kind)).toEqual([
			"message",
			"said",
			"call",
			"call",
			"question",
			"question",
			"question",
			"said",
			"turn",
			"message",
			"said",
			"turn",
			"message",
			"turn",
			"message",
			"call",
			"question",
		]);
	});

	it("puts a step's words together, and its thoughts apart", () => {
		expect(of(whole, "said").map(({ step, text, reasoning }) => ({ step, text, reasoning }))).toEqual([
			{ step: 1, text: "I will plan that.", reasoning: "First I look, then I plan." },
			{ step: 2, text: "The trip **stands**.", reasoning: "" },
			{ step: 1, text: "One moment", reasoning: "" },
		]);
	});

	it("knows the turn that goes on, and how the others ended", () => {
		expect(upTo("turn.stepped", 1).turn).toMatchObject({ model: "scripted", step: 2 });
		expect(upTo("turn.finished").turn).toBeUndefined();
		expect(of(whole, "turn").map(({ state, model }) => ({ state, model }))).toEqual([
			{ state: "finished", model: "scripted" },
			{ state: "cancelled", model: "scripted" },
			{ state: "failed", model: "scripted" },
		]);
		expect(of(whole, "turn")[0]?.ended).toMatchObject({ steps: 2, calls: 2, usage: { inputTokens: 2400 } });
		expect(of(whole, "turn")[2]?.ended.error?.message).toContain("the script has no more answers");
		expect(whole.turn).toMatchObject({ step: 1 });
	});

	it("keeps a question waiting until the answer, and its call with it", () => {
		const asked = upTo("question.asked", 1);
		expect(waitingQuestions(asked).map(({ asked }) => asked.tool)).toEqual(["slow", "plan_trip"]);
		expect(of(asked, "call").map((call) => call.asking)).toEqual([1, 1]);
		const one = upTo("question.answered");
		expect(waitingQuestions(one).map(({ asked }) => asked.tool)).toEqual(["plan_trip"]);
		expect(of(one, "call").map((call) => call.asking)).toEqual([0, 1]);
		expect(waitingQuestions(upTo("turn.finished"))).toEqual([]);
		expect(waitingQuestions(whole).map(({ asked }) => asked.kind)).toEqual(["permission"]);
		expect(of(whole, "question").map((question) => question.answered?.action)).toEqual([
			"no",
			"once",
			"accept",
			undefined,
		]);
		expect(of(whole, "question")[2]?.answered).toMatchObject({ by: "webshell", content: { name: "Ada" } });
	});

	it("says what decided about a call", () => {
		const calls = of(whole, "call");
		expect(calls.map((call) => call.decided?.allowed)).toEqual([false, true, undefined]);
		expect(calls.map((call) => call.finished?.outcome)).toEqual(["denied", "result", undefined]);
		expect(calls[0]?.startedAt).toBeUndefined();
		expect(whole.running).toBe(1);
	});

	it("ends a question that expired, once", () => {
		const id = whole.waiting[0];
		const at = (n: number, type: string, data: object): Event => ({
			id: whole.lastId + n,
			session: "s",
			time: "2026-01-01T00:00:00Z",
			type,
			data: { questionId: id, ...data },
		});
		const next = fold(whole, [
			at(1, "question.expired", { reason: "withdrawn" }),
			at(2, "question.answered", { action: "once", by: "chat" }),
		]);
		expect(next.waiting).toEqual([]);
		expect(of(next, "call").at(-1)?.asking).toBe(0);
		expect(of(next, "question").at(-1)).toMatchObject({ expired: { reason: "withdrawn" } });
		expect(of(next, "question").at(-1)?.answered).toBeUndefined();
	});

	it("shows a summary and changed tools where they happened", () => {
		const at = (n: number, type: string, data: object): Event => ({
			id: whole.lastId + n,
			session: "s",
			time: "2026-01-01T00:00:00Z",
			type,
			data,
		});
		const next = fold(whole, [
			at(1, "tools.changed", { turnId: "t", added: ["a__b"], removed: ["c", "d", "e", "f"] }),
			at(2, "session.compacted", { through: 3, displays: 0, summarized: 3, summary: "So far." }),
			at(3, "session.compacted", { through: 4, displays: 2 }),
		]);
		expect(next.items.slice(whole.items.length)).toMatchObject([
			{ kind: "notice", text: "The model's tools are others now: new a__b; gone c, d, e and 1 more." },
			{ kind: "summary", text: "So far." },
		]);
	});

	it("gives the same transcript however the log is cut", () => {
		for (let size = 1; size <= turns.length; size++) {
			let cut = emptyTranscript;
			for (let at = 0; at < turns.length; at += size) cut = fold(cut, turns.slice(at, at + size));
			expect(cut).toEqual(whole);
		}
	});

	it("folds an answer of ten thousand pieces", () => {
		let all = emptyTranscript;
		for (let id = 1; id <= 10_000; id++) {
			const data = { turnId: "t", step: 1, text: "word " };
			all = fold(all, [{ id, session: "s", time: "2026-01-01T00:00:00Z", type: "text.appended", data }]);
		}
		expect(of(all, "said").map((item) => item.text.length)).toEqual([50_000]);
	});
});
