import { describe, expect, it } from "vitest";
import type { Event } from "../api/types.gen";
import { fold } from "./fold";
import { type CallItem, emptyTranscript } from "./items";
import log from "./testdata/log.json";

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
