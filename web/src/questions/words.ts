import type { QuestionAsked } from "../api/types.gen";
import type { QuestionItem } from "../session/items";

/** What a person may answer, in the order of the buttons. */
export interface Choice {
	action: string;
	label: string;
	/** The key that chooses it, for permissions. */
	key?: string;
	main?: boolean;
}

const permissions: Choice[] = [
	{ action: "once", label: "Once", key: "y", main: true },
	{ action: "session", label: "This session", key: "s" },
	{ action: "always", label: "Always", key: "a" },
	{ action: "no", label: "No", key: "n" },
];
const others: Choice[] = [
	{ action: "accept", label: "Accept", main: true },
	{ action: "decline", label: "Decline" },
	{ action: "cancel", label: "Cancel" },
];

/** The answers a question allows; an action that is not known here keeps its own name. */
export function choicesOf(asked: QuestionAsked): Choice[] {
	const known = [...permissions, ...others].filter((choice) => asked.allowed.includes(choice.action));
	const rest = asked.allowed.filter((action) => !known.some((choice) => choice.action === action));
	return [...known, ...rest.map((action) => ({ action, label: action }))];
}

/** What a question is, in a few words. */
export function headlineOf({ kind, server, tool, title }: QuestionAsked): string {
	switch (kind) {
		case "permission":
			return `May ${title || tool} of ${server} run?`;
		case "form":
			return `${server} asks you to fill in a form`;
		case "url":
			return `${server} asks you to open an address`;
		case "sampling":
			return `${server} wants to ask the model`;
		case "login":
			return `${server} wants you to log in`;
		default:
			return `${server} asks`;
	}
}

const permissionWords: Record<string, string> = {
	once: "Allowed once",
	session: "Allowed for this session",
	always: "Always allowed",
	no: "Refused",
};
const formWords: Record<string, string> = { accept: "Answered", decline: "Declined", cancel: "Dismissed" };
const urlWords: Record<string, string> = { ...formWords, accept: "Opened" };
const expiredWords: Record<string, string> = {
	deadline: "Nobody answered in time",
	withdrawn: "Withdrawn: its call has ended",
	restarted: "Closed: Usher was restarted",
};

/** How a question ended, and whether it was for the good; undefined while it waits. */
export function settledWords({ asked, answered, expired }: QuestionItem): { words: string; yes: boolean } | undefined {
	if (answered) {
		const words = asked.kind === "url" || asked.kind === "login" ? urlWords : formWords;
		return {
			words: permissionWords[answered.action] ?? words[answered.action] ?? answered.action,
			yes: !["no", "decline", "cancel"].includes(answered.action),
		};
	}
	if (expired) return { words: expiredWords[expired.reason] ?? `Closed: ${expired.reason}`, yes: false };
	return undefined;
}

const surfaces: Record<string, string> = {
	webshell: "here",
	chat: "in the terminal",
	policy: "by policy",
	api: "by a program",
};

/** Where an answer came from. */
export function surfaceWords(by: string): string {
	return surfaces[by] ?? `by ${by}`;
}

/** What a server says of its tool with its annotations. Nobody checked it. */
export function claimsOf(annotations: unknown): string[] {
	const hints = typeof annotations === "object" && annotations !== null ? (annotations as Record<string, unknown>) : {};
	return [
		hints.readOnlyHint === true && "only reads",
		hints.readOnlyHint !== true && hints.destructiveHint === true && "may destroy",
		hints.readOnlyHint !== true && hints.destructiveHint === false && "only adds",
		hints.idempotentHint === true && "may be repeated",
		hints.openWorldHint === true && "reaches the outside",
		hints.openWorldHint === false && "stays in its own world",
	].filter((words): words is string => words !== false);
}

/** An address in three parts, so that its host can be told from what only looks like one. */
export interface Address {
	before: string;
	host: string;
	after: string;
	/** Where a click may lead; undefined when the address is none that a browser should open. */
	href: string | undefined;
	/** The host in the letters that the network uses, when they are others. */
	plainHost: string | undefined;
}

/** Reads an address that a server wants opened. */
export function readAddress(url: string): Address {
	const match = /^(https?:\/\/(?:[^/?#\\]*@)?)([^/?#\\@]+)(.*)$/is.exec(url);
	let parsed: URL | undefined;
	try {
		parsed = new URL(url);
	} catch {
		// Shown as it is, and not to be opened.
	}
	const web = parsed?.protocol === "https:" || parsed?.protocol === "http:";
	// Browsers drop line ends and take a backslash for a slash: what they would open is not what is shown.
	if (!match || !parsed || !web || /[\s\p{Cc}\\]/u.test(url)) {
		return { before: url, host: "", after: "", href: undefined, plainHost: undefined };
	}
	const [, before = "", host = "", after = ""] = match;
	const name = host.replace(/:\d+$/, "").toLowerCase();
	return { before, host, after, href: parsed.href, plainHost: parsed.hostname === name ? undefined : parsed.hostname };
}
