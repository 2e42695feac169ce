import { beforeEach, describe, expect, it } from "vitest";
import type { Catalog, Tool } from "../api/types.gen";
import { argumentsText, draft, pickTool, putAway, setArgs, setText } from "./draft";
import { entriesOf, isOffered, searchEntries } from "./search";
import { expandTemplate, templateVariables } from "./template";

const tool = (server: string, name: string, title = "", description = ""): Tool => ({
	server,
	name,
	title,
	description,
	label: `${server}__${name}`,
	forModel: true,
	inputSchema: { type: "object", properties: { n: { type: "integer", default: 3 }, s: { type: "string" } } },
});

describe("the draft", () => {
	beforeEach(() => {
		putAway();
		pickTool(tool("s", "t"));
	});

	it("starts with the schema's defaults", () => {
		expect(draft.get().args).toEqual({ n: 3 });
		expect(JSON.parse(argumentsText(draft.get()))).toEqual({ n: 3 });
	});

	it("keeps form and JSON in step, both ways", () => {
		setText('{ "n": 4,\n "s": "x" }');
		expect(draft.get()).toMatchObject({ args: { n: 4, s: "x" }, problem: undefined });
		expect(argumentsText(draft.get())).toBe('{ "n": 4,\n "s": "x" }');
		setArgs({ ...draft.get().args, s: "y" });
		expect(JSON.parse(argumentsText(draft.get()))).toEqual({ n: 4, s: "y" });
	});

	it("sends digits as they were typed", () => {
		setText('{"n": 12345678901234567890}');
		expect(argumentsText(draft.get())).toContain("12345678901234567890");
	});

	it.each([
		["{", "Not JSON yet"],
		["[1]", "one JSON object"],
		["null", "one JSON object"],
	])("holds on to the last arguments while the text is %s", (text, problem) => {
		setText(text);
		expect(draft.get().args).toEqual({ n: 3 });
		expect(draft.get().problem).toContain(problem);
		setText("");
		expect(draft.get()).toMatchObject({ args: {}, problem: undefined });
	});
});

describe("searchEntries", () => {
	const catalog: Catalog = {
		revision: 1,
		tools: [
			tool("files", "read", "Read a file", "Gives the text"),
			tool("web", "fetch", "Fetch", "Reads a page of the web"),
			tool("mail", "spread", "Spread the word"),
		],
		prompts: [],
		resources: [{ server: "files", uri: "file:///readme", name: "readme", title: "" }],
		templates: [],
	};
	const titles = (query: string) => searchEntries(entriesOf(catalog), query).map((entry) => entry.title);

	it("puts what starts with the word before what only holds it", () => {
		expect(titles("read")).toEqual(["Read a file", "readme", "Spread the word", "Fetch"]);
	});

	it("puts what runs before what is only read, and offers no app's page beside its tool", () => {
		const page = { server: "s", uri: "ui://dash", name: "dash", title: "Dashboard" };
		const both = entriesOf({ ...catalog, tools: [tool("s", "dash", "Dashboard")], resources: [page] });
		expect(searchEntries(both, "dash").map((entry) => entry.kind)).toEqual(["tool", "resource"]);
		expect(both.filter(isOffered).map((entry) => entry.kind)).toEqual(["tool"]);
	});

	it("wants every word, in any field", () => {
		expect(titles("files read")).toEqual(["Read a file", "readme"]);
		expect(titles("nothing")).toEqual([]);
	});

	it("keeps the catalog's order without a query, and is quick with thousands", () => {
		expect(titles("")).toHaveLength(4);
		const many = entriesOf({ ...catalog, tools: Array.from({ length: 5000 }, (_, i) => tool("s", `t${i}`)) });
		expect(searchEntries(many, "t4999")).toHaveLength(1);
	});
});

describe("URI templates", () => {
	it.each([
		["note://{id}", { id: "a b/c" }, "note://a%20b%2Fc"],
		["file://{+path}", { path: "/a/b c" }, "file:///a/b%20c"],
		["s://x{?q,lang}", { q: "a&b", lang: "de" }, "s://x?q=a%26b&lang=de"],
		["s://x{?q,lang}", { lang: "de" }, "s://x?lang=de"],
		["s://x{/a,b}{#frag}", { a: "1", b: "2", frag: "top" }, "s://x/1/2#top"],
		["s://x{?q}", {}, "s://x"],
	])("%s with %j", (template, values, uri) => {
		expect(expandTemplate(template, values as Record<string, string>)).toBe(uri);
	});

	it("lists variables once, without their modifiers", () => {
		expect(templateVariables("s://{a}/{b*}{?a,c:3}")).toEqual(["a", "b", "c"]);
	});
});
