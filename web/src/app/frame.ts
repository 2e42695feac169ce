import type { AppBridge, McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { followHeight } from "./height";
import { type Action, type Happening, type State, start, step } from "./lifecycle";
import { park } from "./park";
import { FrameTransport } from "./transport";

/** How long an app may take until `initialized`, unless the daemon says otherwise. */
const defaultReadySeconds = 10;
/** How long a teardown may take before the frame goes anyway. */
const teardownMs = 1000;

export interface FrameOptions {
	place: HTMLElement;
	title: string;
	html: string;
	csp: unknown;
	input: Record<string, unknown>;
	/** The CallToolResult; undefined when the call brought none. */
	result: Record<string, unknown> | undefined;
	theme: "light" | "dark";
	context(): McpUiHostContext;
	/** Resolves to the sandbox page's address and the app's time to be ready, or rejects with the reason there is none. */
	sandbox: Promise<{ url: string; readySeconds: number }>;
	onPhase?(phase: State["phase"]): void;
	onProblem(reason: string): void;
}

/** One app's frame, from its making to its end. */
export interface AppFrame {
	/** The page's theme or the width of the place changed. */
	update(theme: "light" | "dark"): void;
	/** Lets the app tear down, at most a second, and removes the frame. It may be called any number of times. */
	close(): void;
}

/** Opens an app's frame in its place. The bridge is loaded when the first app needs it. */
export function openFrame(options: FrameOptions): AppFrame {
	const frame = document.createElement("iframe");
	frame.className = "app-frame";
	frame.title = options.title;
	frame.referrerPolicy = "no-referrer";
	frame.setAttribute("sandbox", "allow-scripts allow-forms");
	Object.assign(frame.style, { display: "block", width: "100%", border: "0", colorScheme: options.theme });

	const heights = followHeight();
	let state: State = start;
	let bridge: AppBridge | undefined;
	let deliveries = 0;
	let drawing = 0;
	const setHeight = (height: number) => {
		frame.style.height = `${height}px`;
	};
	setHeight(heights.report({}));

	let clock: ReturnType<typeof setTimeout>;
	const expect = (seconds: number) => {
		clearTimeout(clock);
		clock = setTimeout(() => happen({ type: "late", seconds }), seconds * 1000);
	};
	expect(defaultReadySeconds);

	function happen(happening: Happening): void {
		const next = step(state, happening);
		const changed = next.state.phase !== state.phase;
		state = next.state;
		if (changed) {
			frame.dataset.phase = state.phase;
			options.onPhase?.(state.phase);
		}
		for (const action of next.actions) actions[action]();
	}

	const actions: Record<Action, () => void> = {
		sendHTML() {
			bridge
				?.sendSandboxResourceReady({ html: options.html })
				.catch(() => happen({ type: "broken", why: "its page could not be handed to the sandbox" }));
		},
		deliver() {
			clearTimeout(clock);
			deliver().catch(() => happen({ type: "broken", why: "the call's result could not be handed to it" }));
		},
		tearDown() {
			// The view is leaving the page, and with it the place. The frame must stay alive until the app answered.
			if (!park(frame) || !bridge) {
				happen({ type: "settled" });
				return;
			}
			bridge
				.teardownResource({}, { timeout: teardownMs })
				.catch(() => undefined) // no handler, or no answer in time: settled all the same
				.then(() => happen({ type: "settled" }));
		},
		discard() {
			clearTimeout(clock);
			cancelAnimationFrame(drawing);
			watch.disconnect();
			frame.remove();
			void bridge?.close().catch(() => undefined);
		},
		report() {
			if (state.phase === "failed") options.onProblem(state.reason);
		},
	};

	async function deliver(): Promise<void> {
		deliveries += 1;
		const mine = deliveries;
		await bridge?.sendToolInput({ arguments: options.input });
		if (mine !== deliveries) return; // the app started over meanwhile, and is told everything again
		if (options.result) await bridge?.sendToolResult(options.result as Parameters<AppBridge["sendToolResult"]>[0]);
		else await bridge?.sendToolCancelled({ reason: "the call brought no result" });
		happen({ type: "delivered" });
	}

	async function connect(): Promise<void> {
		const [{ AppBridge: Bridge }, sandbox] = await Promise.all([import("./app-bridge"), options.sandbox]);
		if (state.phase !== "mounting") return; // closed before it began
		const target = frame.contentWindow;
		if (!target) throw new Error("its frame has no window");
		const transport = new FrameTransport(target);
		transport.ongone = () => happen({ type: "gone" });
		// No client: nothing is forwarded. No capability is offered, so what an app asks for is answered "not found".
		bridge = new Bridge(null, { name: "usher", title: "Usher", version: "1.0.0" }, capabilities(options.csp), {
			hostContext: options.context(),
		});
		bridge.addEventListener("sandboxready", () => happen({ type: "proxyReady" }));
		bridge.addEventListener("initialized", () => happen({ type: "initialised" }));
		bridge.addEventListener("sizechange", (size) => {
			// Each report counts, even when several are drawn at once: a loop is known by its small steps.
			const height = heights.report(size ?? {});
			cancelAnimationFrame(drawing);
			drawing = requestAnimationFrame(() => setHeight(height));
		});
		await bridge.connect(transport);
		if (sandbox.readySeconds > 0) expect(sandbox.readySeconds);
		frame.src = sandbox.url; // only now: the page announces itself as soon as it runs
	}

	const refresh = () => {
		if (bridge && (state.phase === "initialised" || state.phase === "shown")) {
			bridge.setHostContext(options.context());
		}
	};
	let width = options.place.clientWidth;
	const watch = new ResizeObserver(() => {
		if (options.place.clientWidth === width || options.place.clientWidth === 0) return;
		width = options.place.clientWidth;
		heights.rewidth();
		refresh();
	});

	options.place.append(frame);
	watch.observe(options.place);
	connect().catch((error: unknown) => {
		happen({ type: "broken", why: error instanceof Error ? error.message : String(error) });
	});

	return {
		update(theme) {
			frame.style.colorScheme = theme;
			refresh();
		},
		close: () => happen({ type: "close" }),
	};
}

function capabilities(csp: unknown): McpUiHostCapabilities {
	const declared = typeof csp === "object" && csp !== null ? (csp as Record<string, unknown>) : {};
	const granted: Record<string, unknown> = {};
	for (const name of ["connectDomains", "resourceDomains", "baseUriDomains"]) {
		if (Array.isArray(declared[name])) granted[name] = declared[name];
	}
	return { sandbox: { csp: granted } } as McpUiHostCapabilities;
}
