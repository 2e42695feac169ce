import type { Catalog } from "../api/types.gen";
import type { IconName } from "../ui/icons";

/** One thing of the catalog that a person may choose. */
export interface Entry {
	kind: "tool" | "prompt" | "resource" | "template";
	server: string;
	/** What identifies it within its server: a name, a URI or a URI template. */
	id: string;
	title: string;
	description: string;
	key: string;
	haystack: string;
}

export const kindIcons: Record<Entry["kind"], IconName> = {
	tool: "tool",
	prompt: "prompt",
	resource: "file",
	template: "file",
};

/** Everything of a catalog as one list, in the catalog's order. */
export function entriesOf(catalog: Catalog): Entry[] {
	const entry = (kind: Entry["kind"], server: string, id: string, title: string, description = ""): Entry => ({
		kind,
		server,
		id,
		title: title || id,
		description,
		key: `${kind} ${server} ${id}`,
		haystack: `${title}\n${id}\n${server}\n${description}`.toLowerCase(),
	});
	return [
		...catalog.tools.map((tool) => entry("tool", tool.server, tool.name, tool.title, tool.description)),
		...catalog.prompts.map((prompt) => entry("prompt", prompt.server, prompt.name, prompt.title, prompt.description)),
		...catalog.templates.map((t) => entry("template", t.server, t.uriTemplate, t.title || t.name, t.description)),
		...catalog.resources.map((r) => entry("resource", r.server, r.uri, r.title || r.name, r.description)),
	];
}

/** Whether an entry is worth offering among everything: an app's page is drawn by its tool, and read for its source alone. */
export function isOffered(entry: Entry): boolean {
	return entry.kind !== "resource" || !entry.id.startsWith("ui://");
}

/** To run something is what people come for. */
const kindScores: Record<Entry["kind"], number> = { tool: 4, prompt: 0, template: 0, resource: 0 };

/**
 * The entries that hold every word of the query, the best first: a word that starts a title counts more than
 * one that starts any word of title or name, and that more than one inside.
 */
export function searchEntries(entries: readonly Entry[], query: string): Entry[] {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean);
	if (words.length === 0) return [...entries];
	const hits: { entry: Entry; score: number; at: number }[] = [];
	entries.forEach((entry, at) => {
		let score = kindScores[entry.kind];
		for (const word of words) {
			if (!entry.haystack.includes(word)) return;
			const name = `${entry.title}\n${entry.id}`.toLowerCase();
			if (entry.title.toLowerCase().startsWith(word) || entry.id.toLowerCase().startsWith(word)) score += 8;
			else if (name.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word))) score += 5;
			else if (name.includes(word)) score += 3;
			else if (entry.server.toLowerCase().includes(word)) score += 2;
			else score += 1;
		}
		hits.push({ entry, score, at });
	});
	return hits.sort((a, b) => b.score - a.score || a.at - b.at).map((hit) => hit.entry);
}
