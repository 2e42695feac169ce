import { api } from "../api/client";
import { isObject } from "../api/json";
import type { Catalog, PromptResponse } from "../api/types.gen";
import { type Attachment, writeAttachments } from "../session/attachments";
import { createStore } from "../store/store";
import { mentionedResources } from "./suggest";

/** The message being written. A reload keeps it. */
export const message = createStore<string>(restore());

const key = "usher.message";
const maxKept = 256 << 10;
/** What the daemon takes, in bytes. */
const maxMessage = 256 << 10;

message.subscribe(() => {
	try {
		const text = message.get();
		if (text === "") sessionStorage.removeItem(key);
		else if (text.length <= maxKept) sessionStorage.setItem(key, text);
	} catch {
		// Storage may be full or refused; the message then lasts as long as the page.
	}
});

function restore(): string {
	try {
		return sessionStorage.getItem("usher.message") ?? "";
	} catch {
		return "";
	}
}

/** Adds a text to the message being written. */
export function insertText(text: string): void {
	message.set((now) => (now.trim() === "" ? text : `${now.replace(/\s+$/, "")}\n\n${text}`));
}

/** The text of a prompt's messages, as a person would have written it. */
export function promptText(prompt: PromptResponse): string {
	const texts = prompt.messages.flatMap((one) => {
		if (!isObject(one)) return [];
		const text = [one.content]
			.flat()
			.flatMap((block) => {
				if (!isObject(block)) return [];
				if (block.type === "text") return [String(block.text ?? "")];
				const resource = block.type === "resource" && isObject(block.resource) ? block.resource : undefined;
				return typeof resource?.text === "string" ? [resource.text] : [];
			})
			.join("\n");
		if (text === "") return [];
		return [one.role === "assistant" ? `(You said before:)\n${text}` : text];
	});
	return texts.join("\n\n");
}

/** A message that cannot be sent as it is, and why. */
export class ComposeError extends Error {}

/** Reads the resources that a message names, and puts their text behind it. */
export async function withAttachments(text: string, catalog: Catalog | undefined): Promise<string> {
	const named = catalog ? mentionedResources(catalog, text) : [];
	const attached = await Promise.all(named.map(attach));
	const whole = writeAttachments(text, attached.flat());
	if (new TextEncoder().encode(whole).length > maxMessage) {
		throw new ComposeError("The message is longer than 256 KiB with what it attaches. Attach less.");
	}
	return whole;
}

async function attach({ server, uri }: { server: string; uri: string }): Promise<Attachment[]> {
	const { contents } = await api.read({ server, uri });
	const texts = contents.flatMap((one): Attachment[] =>
		isObject(one) && typeof one.text === "string"
			? [{ server, uri: String(one.uri ?? uri), mimeType: String(one.mimeType ?? ""), text: one.text }]
			: [],
	);
	if (texts.length === 0) throw new ComposeError(`${uri} of ${server} is no text, and only text can be attached.`);
	return texts;
}
