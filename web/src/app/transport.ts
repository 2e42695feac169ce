import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { allowance, fits } from "./guard";

/** Messages with this start are between the host and the sandbox page; the page lets none of an app through. */
const sandboxPrefix = "ui/notifications/sandbox-";

/**
 * Carries the bridge's messages to and from one frame. The frame is known by its window, which nothing can forge,
 * and by its opaque origin. Payloads are never logged: they are the person's.
 */
export class FrameTransport implements Transport {
	onmessage?: NonNullable<Transport["onmessage"]>;
	onclose?: () => void;
	onerror?: (error: Error) => void;
	/** The sandbox page says that the app's document was replaced. */
	ongone?: () => void;

	readonly #frame: Window;
	readonly #page: Window;
	readonly #allowed = allowance(400, 200);
	#open = false;

	constructor(frame: Window, page: Window = window) {
		this.#frame = frame;
		this.#page = page;
	}

	async start(): Promise<void> {
		this.#open = true;
		this.#page.addEventListener("message", this.#receive);
	}

	async send(message: JSONRPCMessage): Promise<void> {
		if (!this.#open) throw new Error("the app's frame is closed");
		this.#frame.postMessage(message, "*"); // an opaque origin has no name to send to
	}

	async close(): Promise<void> {
		if (!this.#open) return;
		this.#open = false;
		this.#page.removeEventListener("message", this.#receive);
		this.onclose?.();
	}

	readonly #receive = (event: MessageEvent<unknown>): void => {
		if (event.source !== this.#frame || event.origin !== "null") return;
		const message = event.data;
		if (!isMessage(message) || !this.#allowed() || !fits(message)) return;
		if (message.method === `${sandboxPrefix}app-gone`) {
			this.ongone?.();
			return;
		}
		this.onmessage?.(message as unknown as JSONRPCMessage);
	};
}

/** Whether it has the outer shape of a JSON-RPC message. The bridge checks what is inside. */
function isMessage(value: unknown): value is Record<string, unknown> & { method?: string } {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
	const { jsonrpc, id, method } = value as Record<string, unknown>;
	if (jsonrpc !== "2.0") return false;
	if (id !== undefined && typeof id !== "string" && !Number.isInteger(id)) return false;
	if (method !== undefined) return typeof method === "string";
	return id !== undefined && "result" in value !== "error" in value;
}
