import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { follow } from "./stream";
import type { Event } from "./types.gen";

/** A stream whose connection breaks when the test says so, which no daemon can be asked to do. */
class FakeSource extends EventTarget {
	static readonly CLOSED = 2;
	static all: FakeSource[] = [];
	readyState = 0;
	onopen?: () => void;
	onerror?: () => void;
	onmessage?: (message: MessageEvent) => void;
	constructor(readonly url: string) {
		super();
		FakeSource.all.push(this);
	}
	close() {
		this.readyState = FakeSource.CLOSED;
	}
	opens() {
		this.readyState = 1;
		this.onopen?.();
	}
	sends(event: Partial<Event>, named = true) {
		const message = new MessageEvent(named ? (event.type ?? "message") : "message", { data: JSON.stringify(event) });
		if (named) this.dispatchEvent(message);
		else this.onmessage?.(message);
	}
	breaks() {
		this.onerror?.();
	}
}

const last = () => {
	const source = FakeSource.all.at(-1);
	if (!source) throw new Error("nothing was opened");
	return source;
};

describe("follow", () => {
	const seen = { events: [] as Event[], connected: [] as boolean[], resyncs: 0, refusals: 0 };
	let stop: () => void;

	beforeEach(() => {
		vi.useFakeTimers();
		vi.stubGlobal("EventSource", FakeSource);
		FakeSource.all = [];
		Object.assign(seen, { events: [], connected: [], resyncs: 0, refusals: 0 });
		stop = follow((after) => `/events?after=${after}`, 7, {
			onEvent: (event) => seen.events.push(event),
			onConnected: (connected) => seen.connected.push(connected),
			onResync: () => seen.resyncs++,
			onRefused: () => seen.refusals++,
		});
	});
	afterEach(() => {
		stop();
		vi.useRealTimers();
		vi.unstubAllGlobals();
	});

	it("begins after what is known and goes on after what it saw", () => {
		expect(last().url).toBe("/events?after=7");
		last().opens();
		last().sends({ id: 8, type: "call.started" });
		last().sends({ id: 9, type: "something.new" }, false);
		last().sends({ id: 0, type: "server.changed" });
		expect(seen.events.map((event) => event.id)).toEqual([8, 9, 0]);
		last().breaks();
		vi.advanceTimersByTime(250);
		expect(last().url).toBe("/events?after=9");
		expect(FakeSource.all).toHaveLength(2);
	});

	it("says nothing of a break that heals within a second", () => {
		last().opens();
		last().breaks();
		vi.advanceTimersByTime(900);
		last().opens();
		vi.advanceTimersByTime(60_000);
		expect(seen.connected).toEqual([true, true]);
	});

	it("says it after a second, keeps trying with growing pauses, and asks why", () => {
		last().opens();
		for (let i = 0; i < 12; i++) {
			last().breaks();
			vi.advanceTimersByTime(5000);
		}
		expect(seen.connected).toEqual([true, false]);
		expect(FakeSource.all).toHaveLength(13);
		expect(seen.refusals).toBeGreaterThan(5);
		last().opens();
		expect(seen.connected).toEqual([true, false, true]);
	});

	it("leaves the stream to its owner when a gap cannot be filled", () => {
		last().opens();
		last().dispatchEvent(new MessageEvent("resync", { data: "{}" }));
		expect(seen.resyncs).toBe(1);
		expect(last().readyState).toBe(FakeSource.CLOSED);
	});

	it("opens nothing after it was stopped", () => {
		last().breaks();
		stop();
		vi.advanceTimersByTime(60_000);
		expect(FakeSource.all).toHaveLength(1);
		expect(seen.connected).toEqual([]);
	});

	it("survives what is no event", () => {
		last().onmessage?.(new MessageEvent("message", { data: "not json" }));
		last().sends({ id: 8, type: "call.started" });
		expect(seen.events).toHaveLength(1);
	});
});
