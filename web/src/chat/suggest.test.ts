import { describe, expect, it } from "vitest";
import type { Catalog } from "../api/types.gen";
import { mentionAt, mentionedResources, mentionOf, suggest } from "./suggest";

const catalog: Catalog = {
	revision: 1,
	tools: [{ server: "tour", name: "briefing_run", label: "x", title: "Run a briefing", forModel: true }],
	prompts: [{ server: "tour", name: "briefing", title: "Revenue briefing", arguments: [] }],
	resources: [
		{ server: "tour", uri: "usher://welcome", name: "welcome", title: "Welcome" },
		{ server: "tour", uri: "ui://tour/app", name: "app", title: "App page" },
	],
	templates: [
		{ server: "tour", uriTemplate: "usher://revenue/{region}", name: "revenue", title: "Revenue of a region" },
	],
};

describe("mentionAt", () => {
	it.each([
		["/br", 3, { sign: "/", query: "br", start: 0, end: 3 }],
		["see @tour:us", 12, { sign: "@", query: "tour:us", start: 4, end: 12 }],
		["@", 1, { sign: "@", query: "", start: 0, end: 1 }],
	])("finds %j", (text, caret, mention) => {
		expect(mentionAt(text, caret)).toEqual(mention);
	});
	it.each([
		["either/or", 9],
		["see /etc/hosts", 14],
		["me@example.com", 14],
		["@welcome and", 12],
	])("leaves %j alone", (text, caret) => {
		expect(mentionAt(text, caret)).toBeUndefined();
	});
});

describe("suggest", () => {
	const names = (text: string) => {
		const mention = mentionAt(text, text.length);
		return mention ? suggest(catalog, mention).map(mentionOf) : [];
	};
	it("offers what can be run after /, prompts first", () => {
		expect(names("/")).toEqual(["/tour:briefing", "/tour:briefing_run"]);
	});
	it("offers what can be read after @, and no app's page", () => {
		expect(names("@")).toEqual(["@tour:usher://welcome", "@tour:usher://revenue/{region}"]);
		expect(names("@wel")).toEqual(["@tour:usher://welcome"]);
	});
	it("puts what is written out first", () => {
		expect(names("/tour:briefing_")).toEqual(["/tour:briefing_run"]);
		expect(names("@tour:usher://w")[0]).toBe("@tour:usher://welcome");
	});
});

describe("mentionedResources", () => {
	it("finds each once, and takes a sentence's end for what it is", () => {
		expect(
			mentionedResources(
				catalog,
				"Read @tour:usher://welcome, then @tour:usher://revenue/Europe. @tour:usher://welcome",
			),
		).toEqual([
			{ server: "tour", uri: "usher://welcome" },
			{ server: "tour", uri: "usher://revenue/Europe" },
		]);
	});
	it("leaves addresses of people and unknown servers alone", () => {
		expect(mentionedResources(catalog, "mail a@tour:usher://welcome or @other:usher://welcome or @tour:words")).toEqual(
			[],
		);
	});
});
