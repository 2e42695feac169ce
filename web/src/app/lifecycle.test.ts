import { describe, expect, test } from "vitest";
import { type Action, type Happening, type State, start, step } from "./lifecycle";

/** Lets things happen one after the other and gives where it ends and everything that was to be done. */
function live(...happenings: Happening[]): { state: State; actions: Action[] } {
	let state = start;
	const actions: Action[] = [];
	for (const happening of happenings) {
		const next = step(state, happening);
		state = next.state;
		actions.push(...next.actions);
	}
	return { state, actions };
}

const proxyReady: Happening = { type: "proxyReady" };
const initialised: Happening = { type: "initialised" };
const delivered: Happening = { type: "delivered" };
const close: Happening = { type: "close" };
const settled: Happening = { type: "settled" };
const late: Happening = { type: "late", seconds: 10 };
const gone: Happening = { type: "gone" };
const broken: Happening = { type: "broken", why: "it broke" };

describe("an app's life", () => {
	test("goes from mounting to shown to torn down", () => {
		expect(live(proxyReady, initialised, delivered, close, settled)).toEqual({
			state: { phase: "tornDown" },
			actions: ["sendHTML", "deliver", "tearDown", "discard"],
		});
	});

	test("delivers nothing before the app is initialised", () => {
		expect(live(proxyReady, delivered).actions).toEqual(["sendHTML"]);
		expect(live(initialised)).toEqual({ state: start, actions: [] });
	});

	test("delivers again after every initialised", () => {
		expect(live(proxyReady, initialised, initialised, delivered, initialised)).toEqual({
			state: { phase: "shown" },
			actions: ["sendHTML", "deliver", "deliver", "deliver"],
		});
	});

	test.each<[string, Happening[], string]>([
		["no sandbox in time", [late], "its sandbox did not load within 10 seconds"],
		["no initialised in time", [proxyReady, late], "it did not start within 10 seconds"],
		["another document", [proxyReady, initialised, delivered, gone], "it left its own page"],
		["another document before initialised", [proxyReady, gone], "it left its own page"],
		["a second sandbox", [proxyReady, initialised, proxyReady], "its sandbox was loaded a second time"],
		["a failure", [broken], "it broke"],
		["a failure later", [proxyReady, initialised, delivered, broken], "it broke"],
	])("fails with a reason: %s", (_name, happenings, reason) => {
		const { state, actions } = live(...happenings);
		expect(state).toEqual({ phase: "failed", reason });
		expect(actions.slice(-2)).toEqual(["discard", "report"]);
	});

	test("is not late once it was initialised", () => {
		expect(live(proxyReady, initialised, late).state).toEqual({ phase: "initialised" });
		expect(live(proxyReady, initialised, delivered, late).state).toEqual({ phase: "shown" });
	});

	test("asks for a teardown only an app that was initialised", () => {
		expect(live(close)).toEqual({ state: { phase: "tornDown" }, actions: ["discard"] });
		expect(live(proxyReady, close).actions).toEqual(["sendHTML", "discard"]);
		expect(live(proxyReady, initialised, close).actions).toEqual(["sendHTML", "deliver", "tearDown"]);
	});

	test("keeps its frame until the teardown settled", () => {
		expect(live(proxyReady, initialised, delivered, close).state).toEqual({ phase: "closing" });
	});

	test("is discarded once, and nothing follows its end", () => {
		const after = [proxyReady, initialised, delivered, close, settled, late, gone, broken];
		for (const end of [
			[close],
			[late],
			[broken],
			[proxyReady, initialised, close, settled],
			[proxyReady, initialised, gone],
		]) {
			const { state, actions } = live(...end, ...after);
			expect(state).toEqual(live(...end).state);
			expect(actions.filter((action) => action === "discard")).toHaveLength(1);
		}
		expect(live(proxyReady, initialised, close, gone, broken, late, initialised).state).toEqual({ phase: "closing" });
	});
});
