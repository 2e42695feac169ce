/**
 * The life of one app as a state machine, free of the browser: what happened goes in, what to do comes out.
 *
 *     mounting → proxyReady → initialised → shown → closing → tornDown
 *         └──────────┴────────────┴───────────┴──→ failed (reason)
 */
export type State =
	| { phase: "mounting" | "proxyReady" | "initialised" | "shown" | "closing" | "tornDown" }
	| { phase: "failed"; reason: string };

export type Happening =
	/** The sandbox page announced itself. */
	| { type: "proxyReady" }
	/** The app sent `initialized`; it may do so again, when it starts over inside its frame. */
	| { type: "initialised" }
	/** Input and result were handed to the app. */
	| { type: "delivered" }
	/** Too much time went by before the app was initialised. */
	| { type: "late"; seconds: number }
	/** The app's frame holds another document than the one that was validated. */
	| { type: "gone" }
	/** Something broke; why is a sentence's end for the person. */
	| { type: "broken"; why: string }
	/** The view goes away. */
	| { type: "close" }
	/** The app answered the teardown, with whatever, or did not in time. */
	| { type: "settled" };

export type Action =
	/** Hand the HTML to the sandbox page. */
	| "sendHTML"
	/** Send tool-input, then tool-result or tool-cancelled. */
	| "deliver"
	/** Ask the app to tear down, and report `settled`. */
	| "tearDown"
	/** Remove the frame, the listeners and the clocks. */
	| "discard"
	/** Tell the person why there is no app. */
	| "report";

export interface Step {
	state: State;
	actions: readonly Action[];
}

export const start: State = { phase: "mounting" };

/** What follows from a happening. Nothing follows from one that comes too late or too early. */
export function step(state: State, happening: Happening): Step {
	const stay: Step = { state, actions: [] };
	const fail = (reason: string): Step => ({ state: { phase: "failed", reason }, actions: ["discard", "report"] });
	const running = state.phase === "initialised" || state.phase === "shown";
	const starting = state.phase === "mounting" || state.phase === "proxyReady";

	switch (happening.type) {
		case "proxyReady":
			if (state.phase === "mounting") return { state: { phase: "proxyReady" }, actions: ["sendHTML"] };
			// A frame that loads twice was moved or reloaded by somebody else, and whatever the app held is lost.
			return starting || running ? fail("its sandbox was loaded a second time") : stay;
		case "initialised":
			if (state.phase === "proxyReady") return { state: { phase: "initialised" }, actions: ["deliver"] };
			return running ? { state, actions: ["deliver"] } : stay;
		case "delivered":
			return state.phase === "initialised" ? { state: { phase: "shown" }, actions: [] } : stay;
		case "late":
			if (state.phase === "mounting") return fail(`its sandbox did not load within ${happening.seconds} seconds`);
			return state.phase === "proxyReady" ? fail(`it did not start within ${happening.seconds} seconds`) : stay;
		case "gone":
			return starting || running ? fail("it left its own page") : stay;
		case "broken":
			return starting || running ? fail(happening.why) : stay;
		case "close":
			if (starting) return { state: { phase: "tornDown" }, actions: ["discard"] };
			return running ? { state: { phase: "closing" }, actions: ["tearDown"] } : stay;
		case "settled":
			return state.phase === "closing" ? { state: { phase: "tornDown" }, actions: ["discard"] } : stay;
	}
}
