import type { Catalog } from "../api/types.gen";
import { type Entry, entriesOf, isOffered, searchEntries } from "../bench/search";

/** A name that is being written in a message: "/" for what can be run, "@" for what can be read. */
export interface Mention {
	sign: "/" | "@";
	/** What is written after the sign. */
	query: string;
	/** Where in the text it stands. */
	start: number;
	end: number;
}

const maxOffered = 8;

/** The mention that ends at the caret; "/" counts at the beginning of the message alone. */
export function mentionAt(text: string, caret: number): Mention | undefined {
	const match = /(^|\s)([/@])(\S*)$/.exec(text.slice(0, caret));
	if (!match) return undefined;
	const [, before = "", sign = "", query = ""] = match;
	const start = match.index + before.length;
	if (sign === "/" && start !== 0) return undefined;
	return { sign: sign as Mention["sign"], query, start, end: caret };
}

/** How an entry is written in a message. */
export function mentionOf(entry: Pick<Entry, "kind" | "server" | "id">): string {
	return `${entry.kind === "tool" || entry.kind === "prompt" ? "/" : "@"}${entry.server}:${entry.id}`;
}

/** What a mention may mean, the likeliest first. Prompts come before tools: the model runs those itself. */
export function suggest(catalog: Catalog, mention: Mention): Entry[] {
	const runs = mention.sign === "/";
	const kinds: readonly Entry["kind"][] = runs ? ["prompt", "tool"] : ["resource", "template"];
	const entries = entriesOf(catalog).filter((entry) => kinds.includes(entry.kind) && isOffered(entry));
	const whole = `${mention.sign}${mention.query}`.toLowerCase();
	const written = entries.filter((entry) => mention.query !== "" && mentionOf(entry).toLowerCase().startsWith(whole));
	const found = searchEntries(entries, mention.query.replace(/:/g, " "));
	const order = (entry: Entry) => kinds.indexOf(entry.kind);
	return [...new Set([...written, ...found.sort((a, b) => (mention.query === "" ? order(a) - order(b) : 0))])].slice(
		0,
		maxOffered,
	);
}

/** The resources that a message names with "@server:uri", in order and each once. */
export function mentionedResources(catalog: Catalog, text: string): { server: string; uri: string }[] {
	const servers = new Set([...catalog.resources, ...catalog.templates].map((one) => one.server));
	const found = new Map<string, { server: string; uri: string }>();
	for (const [, name = ""] of text.matchAll(/(?<=^|\s)@(\S+)/g)) {
		for (const server of servers) {
			if (!name.startsWith(`${server}:`)) continue;
			const rest = name.slice(server.length + 1);
			// A sentence's own sign after the address is no part of it, unless there is such a resource.
			const known = (uri: string) => catalog.resources.some((one) => one.server === server && one.uri === uri);
			const bare = rest.replace(/[.,;:!?)]+$/, "");
			const uri = known(rest) ? rest : bare;
			if (/^[a-z][a-z0-9+.-]*:/i.test(uri)) found.set(`${server} ${uri}`, { server, uri });
		}
	}
	return [...found.values()];
}
