import type { PromptRequest, ReadRequest } from "../api/types.gen";
import { createStore } from "../store/store";

/** Something read on demand and shown over the page. It is no part of the session. */
export type Peek =
	| { kind: "resource"; request: ReadRequest }
	| { kind: "prompt"; title: string; request: PromptRequest };

export const peek = createStore<Peek | undefined>(undefined);

/** Reads a resource and shows it. */
export function openResource(request: ReadRequest): void {
	peek.set(() => ({ kind: "resource", request }));
}

/** Gets a prompt and shows its messages. */
export function openPrompt(title: string, request: PromptRequest): void {
	peek.set(() => ({ kind: "prompt", title, request }));
}
