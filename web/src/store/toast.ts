import { createStore } from "./store";

/** A word about what just happened, with at most one thing to do about it. */
export interface Toast {
	id: number;
	text: string;
	tone: "plain" | "error";
	action?: { label: string; run(): void };
}

const shownMs = 7000;
const maxToasts = 3;
let lastId = 0;

export const toasts = createStore<readonly Toast[]>([]);

/** Shows a toast for seven seconds. */
export function toast(text: string, options: { tone?: Toast["tone"]; action?: Toast["action"] } = {}): () => void {
	const id = ++lastId;
	const entry: Toast = { id, text, tone: options.tone ?? "plain" };
	if (options.action) entry.action = options.action;
	toasts.set((all) => [...all, entry].slice(-maxToasts));
	const dismiss = () => toasts.set((all) => all.filter((one) => one.id !== id));
	setTimeout(dismiss, shownMs);
	return dismiss;
}
