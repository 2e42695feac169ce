import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One piece of a scripted answer: words, thoughts, a call, or something to wait for first. */
export type Piece =
	| { text: string }
	| { thought: string }
	| { call: { name: string; arguments: unknown } }
	| { wait: Promise<unknown> };

/** What the model was asked, as it came. */
export interface Asked {
	messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
	tools?: { function: { name: string } }[];
	/** Settles when the daemon goes away before the answer's end. */
	gone: Promise<void>;
}

/** A model for tests that plays a script over real HTTP, in the way of the chat completions API. */
export class ScriptedModel {
	private readonly server: Server;
	private readonly turns: Piece[][] = [];
	readonly asked: Asked[] = [];

	private constructor() {
		this.server = createServer((request, response) => void this.answer(request, response));
	}

	static async start(): Promise<ScriptedModel> {
		const model = new ScriptedModel();
		await new Promise<void>((resolve) => model.server.listen(0, "127.0.0.1", resolve));
		return model;
	}

	/** What a daemon needs in its environment to use it. */
	get env(): Record<string, string> {
		const { port } = this.server.address() as AddressInfo;
		return {
			USHER_MODEL_BASE_URL: `http://127.0.0.1:${port}/v1`,
			USHER_MODEL_NAME: "scripted",
			USHER_MODEL_CONTEXT_TOKENS: "32000",
		};
	}

	/** Adds the answer to the next request that has none yet. */
	says(...pieces: Piece[]): void {
		this.turns.push(pieces);
	}

	async close(): Promise<void> {
		this.server.closeAllConnections();
		await new Promise((resolve) => this.server.close(resolve));
	}

	private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		let body = "";
		for await (const chunk of request) body += chunk;
		const gone = new Promise<void>((resolve) => response.once("close", () => resolve()));
		this.asked.push({ ...(JSON.parse(body) as Omit<Asked, "gone">), gone });
		const pieces = this.turns.shift();
		if (!pieces) {
			response.writeHead(400, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ error: { message: "the script has no more answers", type: "error" } }));
			return;
		}
		response.writeHead(200, { "Content-Type": "text/event-stream" });
		response.flushHeaders();
		const send = (choices: unknown[], more: object = {}) =>
			response.write(
				`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "scripted", choices, ...more })}\n\n`,
			);
		const delta = (of: object) => send([{ index: 0, delta: of, finish_reason: null }]);
		let calls = 0;
		for (const piece of pieces) {
			if ("wait" in piece) await Promise.race([piece.wait, gone]);
			else if ("text" in piece) delta({ content: piece.text });
			else if ("thought" in piece) delta({ reasoning_content: piece.thought });
			else {
				const { name, arguments: args } = piece.call;
				const id = `call_${this.asked.length}_${calls}`;
				delta({
					tool_calls: [{ index: calls++, id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
				});
			}
			if (response.destroyed) return;
		}
		send([{ index: 0, delta: {}, finish_reason: calls > 0 ? "tool_calls" : "stop" }]);
		send([], {
			usage: {
				prompt_tokens: 1200,
				completion_tokens: 80,
				total_tokens: 1280,
				prompt_tokens_details: { cached_tokens: 900 },
			},
		});
		response.end("data: [DONE]\n\n");
	}
}

/** A promise and what settles it. */
export function gate(): { opened: Promise<void>; open(): void } {
	let open = () => {};
	const opened = new Promise<void>((resolve) => {
		open = resolve;
	});
	return { opened, open };
}
