import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { allowance, fits } from "./guard";
import { FrameTransport } from "./transport";

/** A page and a frame's window, as far as the transport knows them. */
async function between() {
	const page = new EventTarget() as unknown as Window;
	const frame = { postMessage: vi.fn() } as unknown as Window & { postMessage: ReturnType<typeof vi.fn> };
	const transport = new FrameTransport(frame, page);
	const got: JSONRPCMessage[] = [];
	transport.onmessage = (message) => got.push(message);
	await transport.start();
	const arrive = (data: unknown, from: { source?: unknown; origin?: string } = {}) => {
		const event = new Event("message");
		Object.assign(event, { data, source: frame, origin: "null", ...from });
		page.dispatchEvent(event);
	};
	return { transport, frame, got, arrive };
}

const ping = { jsonrpc: "2.0", id: 1, method: "ping" } as const;

describe("the transport", () => {
	test("passes on what comes from its frame, and nothing else", async () => {
		const { got, arrive } = await between();
		arrive(ping);
		arrive(ping, { source: {} });
		arrive(ping, { source: null });
		arrive(ping, { origin: "http://localhost:8765" });
		arrive(ping, { origin: "" });
		expect(got).toEqual([ping]);
	});

	test.each([
		[null],
		["ping"],
		[7],
		[[ping]],
		[{}],
		[{ id: 1, method: "ping" }],
		[{ jsonrpc: "1.0", method: "ping" }],
		[{ jsonrpc: "2.0" }],
		[{ jsonrpc: "2.0", id: 1 }],
		[{ jsonrpc: "2.0", id: {}, method: "ping" }],
		[{ jsonrpc: "2.0", id: 1.5, method: "ping" }],
		[{ jsonrpc: "2.0", method: 7 }],
		[{ jsonrpc: "2.0", id: 1, result: {}, error: {} }],
		[{ jsonrpc: "2.0", result: {} }],
		[{ jsonrpc: "2.0", method: "x", params: { big: "x".repeat(300_000) } }],
		[{ jsonrpc: "2.0", method: "x", params: new Map() }],
		[{ jsonrpc: "2.0", method: "x", params: new ArrayBuffer(8) }],
	])("drops what is no small JSON-RPC message: %#", async (data) => {
		const { got, arrive } = await between();
		arrive(data);
		expect(got).toEqual([]);
	});

	test("tells when the sandbox page says that the app is gone", async () => {
		const { transport, got, arrive } = await between();
		const gone = vi.fn();
		transport.ongone = gone;
		arrive({ jsonrpc: "2.0", method: "ui/notifications/sandbox-app-gone", params: {} });
		expect(gone).toHaveBeenCalledOnce();
		expect(got).toEqual([]);
	});

	test("bounds a flood", async () => {
		const { got, arrive } = await between();
		for (let i = 0; i < 5000; i++) arrive(ping);
		expect(got.length).toBeLessThan(1000);
		expect(got.length).toBeGreaterThan(100);
	});

	test("sends to the frame until it is closed, and hears nothing after", async () => {
		const { transport, frame, got, arrive } = await between();
		await transport.send(ping);
		expect(frame.postMessage).toHaveBeenCalledExactlyOnceWith(ping, "*");
		const closed = vi.fn();
		transport.onclose = closed;
		await transport.close();
		await transport.close();
		expect(closed).toHaveBeenCalledOnce();
		arrive(ping);
		expect(got).toEqual([]);
		await expect(transport.send(ping)).rejects.toThrow();
	});

	test("logs no payload", async () => {
		const spies = (["log", "debug", "info", "warn", "error"] as const).map((name) => vi.spyOn(console, name));
		const { transport, arrive } = await between();
		arrive({ ...ping, params: { secret: 1 } });
		arrive("nonsense");
		await transport.send(ping);
		for (const spy of spies) expect(spy).not.toHaveBeenCalled();
	});
});

describe("fits", () => {
	test("lets ordinary messages through", () => {
		expect(fits({ jsonrpc: "2.0", id: "a", method: "x", params: { a: [1, true, null, "b", undefined] } })).toBe(true);
	});

	test("ends at its limits", () => {
		const loop: Record<string, unknown> = {};
		loop.self = loop;
		let deep: unknown = 1;
		for (let i = 0; i < 100; i++) deep = [deep];
		for (const bad of [
			loop,
			deep,
			Array(20_000).fill(1),
			"x".repeat(300_000),
			{ ["k".repeat(300_000)]: 1 },
			1n,
			new Date(),
		]) {
			expect(fits(bad)).toBe(false);
		}
	});
});

test("an allowance refills with time", () => {
	let now = 0;
	const allowed = allowance(2, 10, () => now);
	expect([allowed(), allowed(), allowed()]).toEqual([true, true, false]);
	now = 100;
	expect([allowed(), allowed()]).toEqual([true, false]);
	now = 60_000;
	expect([allowed(), allowed(), allowed()]).toEqual([true, true, false]);
});
